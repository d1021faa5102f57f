#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

namespace pipetrace {

/// The number of threads to use: `asked`, or one per core if that is 0.
int threadCount(int asked);

/// Lets several threads do numbered pieces of work at once and hand in the results one after the
/// other, in the order of the numbers. For each of its pieces a thread does the work, calls
/// await(), hands in the result, and calls finish(). Some thread must take each number, from 0 on.
class Turns {
 public:
  /// Calls `work` on that many threads, one of which is the calling thread, and waits for all. When
  /// threads throw, it throws the first exception. Where no thread can be started, fewer do the
  /// work.
  static void run(int threads, const std::function<void(Turns&)>& work);

  /// Waits until all pieces before `number` have been handed in. False when a thread has failed:
  /// then there is nothing more to do.
  bool await(std::int64_t number);

  /// Says that the piece whose turn it is has been handed in.
  void finish();

 private:
  void fail(std::exception_ptr error);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t next_ = 0;
  std::exception_ptr error_;
};

}  // namespace pipetrace
