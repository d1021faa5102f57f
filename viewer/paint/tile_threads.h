#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "viewer/paint/font_cache.h"

namespace pipetrace {

/// Threads that paint parts of a frame. They stay from frame to frame, because each has fonts of
/// its own.
class TileThreads {
 public:
  using Paint = std::function<void(std::size_t part, FontCache& fonts)>;

  /// Starts a thread for each core but the one that calls run().
  TileThreads();
  ~TileThreads();
  TileThreads(const TileThreads&) = delete;
  TileThreads& operator=(const TileThreads&) = delete;

  /// Calls `paint` with each number below `parts`, in no particular order, and waits for all calls.
  /// The calling thread takes part, with `fonts`. `paint` must not throw.
  void run(std::size_t parts, FontCache& fonts, const Paint& paint);

 private:
  void serve();
  bool takePart(std::unique_lock<std::mutex>& lock, FontCache& fonts);

  std::mutex mutex_;
  std::condition_variable begins_;
  std::condition_variable ends_;
  const Paint* paint_ = nullptr;
  std::size_t parts_ = 0;
  std::size_t next_ = 0;  // part to take
  std::size_t left_ = 0;  // parts that are not finished
  bool isOver_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace pipetrace
