#include "runtime/transport/transfer_lane.h"

#include <utility>

namespace pipetrace {

TransferLane::TransferLane() : thread_([this] { run(); }) {}

TransferLane::~TransferLane() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::future<Message> TransferLane::post(std::function<Message()> task) {
  std::packaged_task<Message()> packaged(std::move(task));
  std::future<Message> future = packaged.get_future();
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(packaged));
  }
  changed_.notify_all();
  return future;
}

void TransferLane::run() {
  while (true) {
    std::packaged_task<Message()> task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
      if (stop_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace pipetrace
