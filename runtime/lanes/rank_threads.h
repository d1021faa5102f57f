#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace pipetrace {

/// A thread for each rank, as long as it lives. Things that a rank makes there may belong to it.
///
/// Threads: one at a time calls run().
class RankThreads {
 public:
  explicit RankThreads(int ranks);
  /// Lets the threads end. None may run a body.
  ~RankThreads();
  RankThreads(const RankThreads&) = delete;
  RankThreads& operator=(const RankThreads&) = delete;

  int size() const { return static_cast<int>(threads_.size()); }

  /// Runs `body(rank)` on each rank's thread and waits for all. Then throws what the rank threw
  /// that failed first: others mostly fail because of it.
  void run(const std::function<void(int rank)>& body);

 private:
  void loop(int rank);

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(int rank)>* body_ = nullptr;  // null: the threads are to end
  std::uint64_t round_ = 0;                              // of bodies
  int running_ = 0;
  std::exception_ptr firstError_;
  std::vector<std::thread> threads_;
};

/// The same with threads of its own.
void runRankThreads(int ranks, const std::function<void(int rank)>& body);

}  // namespace pipetrace
