#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace pipetrace {

/// Does pieces of work on a thread of its own, one at a time. Only the latest counts: a new one
/// takes the place of the one that waits, and asks the one that runs to stop. All functions are for
/// one thread, such as the GUI's.
class LatestWork {
 public:
  /// Should return soon after `stop` is set. Must not throw.
  using Work = std::function<void(const std::atomic<bool>& stop)>;

  LatestWork() = default;
  LatestWork(const LatestWork&) = delete;
  LatestWork& operator=(const LatestWork&) = delete;
  /// As stop().
  ~LatestWork();

  void start(Work work);
  /// Drops all work, without a wait for the end of the one that runs.
  void cancel();
  /// As cancel(), and waits.
  void stop();

 private:
  struct Piece {
    Work work;
    std::atomic<bool> stop = false;
  };

  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Piece> next_;
  std::shared_ptr<Piece> running_;
  bool isEnding_ = false;
  std::thread thread_;  // from the first start() on
};

}  // namespace pipetrace
