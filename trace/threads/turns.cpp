#include "trace/threads/turns.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace pipetrace {

int threadCount(int asked) {
  if (asked > 0) return asked;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void Turns::run(int threads, const std::function<void(Turns&)>& work) {
  Turns turns;
  const auto guarded = [&] {
    try {
      work(turns);
    } catch (...) {
      turns.fail(std::current_exception());
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) {
    try {
      others.emplace_back(guarded);
    } catch (const std::system_error&) {
      break;  // there is a limit on threads; the others take over the pieces
    }
  }
  guarded();
  for (std::thread& thread : others) thread.join();
  if (turns.error_) std::rethrow_exception(turns.error_);
}

bool Turns::await(std::int64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return next_ == number || error_; });
  return !error_;
}

void Turns::finish() {
  {
    const std::lock_guard lock(mutex_);
    ++next_;
  }
  changed_.notify_all();
}

void Turns::fail(std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  changed_.notify_all();
}

}  // namespace pipetrace
