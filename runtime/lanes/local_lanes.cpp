#include "runtime/lanes/local_lanes.h"

namespace pipetrace {

RankGroup::RankGroup(int size)
    : size_(size),
      eventCounts_(size < 1 ? nullptr : new EventCount[static_cast<std::size_t>(size)]) {
  if (size < 1) throw Error("a pipeline needs at least one rank");
}

void RankGroup::fail(int rank, const std::string& reason) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (failures_.emplace(rank, reason).second && firstFailed_ < 0) firstFailed_ = rank;
    hasFailed_.store(true, std::memory_order_release);
    changed_.notify_all();
  }
  for (int each = 0; each < size_; ++each) eventCount(each).stop();
}

void RankGroup::throwIfFailed(int rank, const std::string& doing) const {
  const std::lock_guard lock(mutex_);
  const std::string who = "rank " + std::to_string(rank) + " gave up " + doing + ": ";
  if (const auto own = failures_.find(rank); own != failures_.end()) throw Error(who + own->second);
  if (firstFailed_ < 0) return;
  throw PeerLost(who + "rank " + std::to_string(firstFailed_) +
                 " failed: " + failures_.at(firstFailed_));
}

void RankGroup::finish(int rank) {
  {
    std::unique_lock lock(mutex_);
    ++finished_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return finished_ >= size_ || firstFailed_ >= 0; });
    if (finished_ >= size_) return;
  }
  throwIfFailed(rank, "waiting for the others to finish");
}

void RankGroup::requireRank(int rank) const {
  if (rank >= 0 && rank < size_) return;
  throw Error("rank " + std::to_string(rank) + " is none of the " + std::to_string(size_) +
              " ranks of this process");
}

void RankGroup::requirePeer(int rank, int peer) const {
  if (peer >= 0 && peer < size_ && peer != rank) return;
  throw Error("rank " + std::to_string(rank) + " has no peer " + std::to_string(peer) + " among " +
              std::to_string(size_) + " ranks");
}

}  // namespace pipetrace
