#include "viewer/paint/tile_threads.h"

#include <algorithm>
#include <system_error>

namespace pipetrace {
namespace {

constexpr unsigned kMostThreads = 8;

}  // namespace

TileThreads::TileThreads() {
  const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
  try {
    for (unsigned i = 1; i < cores; ++i) threads_.emplace_back([this] { serve(); });
  } catch (const std::system_error&) {
    // Fewer threads do the work.
  }
}

TileThreads::~TileThreads() {
  {
    const std::lock_guard lock(mutex_);
    isOver_ = true;
  }
  begins_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

/// Takes a part and paints it with the lock open. False: there is none.
bool TileThreads::takePart(std::unique_lock<std::mutex>& lock, FontCache& fonts) {
  if (next_ == parts_) return false;
  const std::size_t part = next_++;
  const Paint& paint = *paint_;
  lock.unlock();
  paint(part, fonts);
  lock.lock();
  if (--left_ == 0) ends_.notify_one();
  return true;
}

void TileThreads::serve() {
  FontCache fonts;
  std::unique_lock lock(mutex_);
  while (true) {
    begins_.wait(lock, [this] { return isOver_ || next_ < parts_; });
    if (isOver_) return;
    while (takePart(lock, fonts)) {
    }
  }
}

void TileThreads::run(std::size_t parts, FontCache& fonts, const Paint& paint) {
  if (parts == 0) return;
  std::unique_lock lock(mutex_);
  paint_ = &paint;
  parts_ = left_ = parts;
  next_ = 0;
  if (parts > 1) begins_.notify_all();
  while (takePart(lock, fonts)) {
  }
  ends_.wait(lock, [this] { return left_ == 0; });
  parts_ = next_ = 0;
}

}  // namespace pipetrace
