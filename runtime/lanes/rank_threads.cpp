#include "runtime/lanes/rank_threads.h"

#include <utility>

namespace pipetrace {

RankThreads::RankThreads(int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    threads_.emplace_back([this, rank] { loop(rank); });
  }
}

RankThreads::~RankThreads() {
  {
    const std::lock_guard lock(mutex_);
    body_ = nullptr;
    ++round_;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void RankThreads::run(const std::function<void(int rank)>& body) {
  std::exception_ptr error;
  {
    std::unique_lock lock(mutex_);
    body_ = &body;
    running_ = size();
    ++round_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return running_ == 0; });
    error = std::exchange(firstError_, nullptr);
  }
  if (error) std::rethrow_exception(error);
}

void RankThreads::loop(int rank) {
  std::unique_lock lock(mutex_);
  for (std::uint64_t round = 0;;) {
    changed_.wait(lock, [&] { return round_ != round; });
    round = round_;
    if (body_ == nullptr) return;
    const std::function<void(int rank)>& body = *body_;
    lock.unlock();
    std::exception_ptr error;
    try {
      body(rank);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error && !firstError_) firstError_ = error;
    error = nullptr;
    if (--running_ == 0) changed_.notify_all();
  }
}

void runRankThreads(int ranks, const std::function<void(int rank)>& body) {
  RankThreads(ranks).run(body);
}

}  // namespace pipetrace
