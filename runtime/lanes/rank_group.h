#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/lanes/event_count.h"

namespace pipetrace {

/// The ranks of one process: where each sleeps, who has failed and who has finished.
///
/// Threads: any, but the eventCount of a rank is waited at by that rank's thread alone.
class RankGroup {
 public:
  /// Throws Error for a size below 1.
  explicit RankGroup(int size);

  int size() const { return size_; }
  EventCount& eventCount(int rank) { return eventCounts_[static_cast<std::size_t>(rank)]; }

  /// Gives up `rank`, and ends all waits of all ranks, as every rank needs all others in the end.
  /// The reason that a rank gives first stays.
  void fail(int rank, const std::string& reason) noexcept;
  bool hasFailed() const noexcept { return hasFailed_.load(std::memory_order_acquire); }

  /// Throws Error "rank 1 gave up <doing>: <reason>" with its own reason, else PeerLost with that
  /// of the first that failed.
  void throwIfFailed(int rank, const std::string& doing) const;

  /// Waits until all ranks have called it. Throws as throwIfFailed().
  void finish(int rank);

  /// Throws Error unless `rank` is one of them; and unless `peer` is another one.
  void requireRank(int rank) const;
  void requirePeer(int rank, int peer) const;

 private:
  const int size_;
  const std::unique_ptr<EventCount[]> eventCounts_;
  std::atomic<bool> hasFailed_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, std::string> failures_;  // by rank
  int firstFailed_ = -1;
  int finished_ = 0;
};

}  // namespace pipetrace
