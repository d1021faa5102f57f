#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

namespace pipetrace {

/// How many threads to use where `asked` were asked for: that many, or one per core when it is 0.
int threadCount(int asked);

/// Lets several threads do numbered pieces of work at once and hand in what came of them one after
/// the other, in the order of their numbers. Each thread calls, for each of its pieces, await()
/// once the work is done, hands in, and calls finish(). Every number from 0 on must be somebody's.
class Turns {
 public:
  /// Calls `work` on so many threads, the calling one among them, and waits for all. What the first
  /// of them threw, it throws. Where no thread can be started, fewer do the work.
  static void run(int threads, const std::function<void(Turns&)>& work);

  /// Waits until all pieces before `number` have been handed in; false when some thread has failed:
  /// then there is nothing more to do.
  bool await(std::int64_t number);

  /// The piece whose turn it is has been handed in.
  void finish();

 private:
  void fail(std::exception_ptr error);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t next_ = 0;
  std::exception_ptr error_;
};

}  // namespace pipetrace
