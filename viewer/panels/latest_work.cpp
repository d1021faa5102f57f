#include "viewer/panels/latest_work.h"

#include <utility>

namespace pipetrace {

LatestWork::~LatestWork() {
  stop();
  {
    const std::lock_guard lock(mutex_);
    isEnding_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LatestWork::start(Work work) {
  auto piece = std::make_shared<Piece>();
  piece->work = std::move(work);
  {
    const std::lock_guard lock(mutex_);
    if (running_) running_->stop = true;
    next_ = std::move(piece);
  }
  changed_.notify_all();
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void LatestWork::cancel() {
  const std::lock_guard lock(mutex_);
  next_.reset();
  if (running_) running_->stop = true;
}

void LatestWork::stop() {
  std::unique_lock lock(mutex_);
  next_.reset();
  if (running_) running_->stop = true;
  changed_.wait(lock, [this] { return running_ == nullptr; });
}

void LatestWork::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return isEnding_ || next_ != nullptr; });
    if (isEnding_) return;
    running_ = std::move(next_);
    next_.reset();
    const std::shared_ptr<Piece> piece = running_;
    lock.unlock();
    piece->work(piece->stop);
    piece->work = nullptr;  // with all that it holds
    lock.lock();
    running_.reset();
    changed_.notify_all();
  }
}

}  // namespace pipetrace
