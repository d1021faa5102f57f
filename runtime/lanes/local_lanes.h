#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "runtime/lanes/event_count.h"
#include "runtime/lanes/lane.h"
#include "runtime/lanes/mailbox.h"
#include "runtime/lanes/message_header.h"
#include "trace/error.h"

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

/// The lanes between ranks that are threads of one process. The thread that sends puts the message
/// where the thread that needs it looks for it. No third one takes part.
///
/// `Payload`: see Mailbox; shapeOf(payload) says its TensorShape.
template <typename Payload>
class LocalLanes {
 public:
  explicit LocalLanes(int ranks) : group_(ranks) {}

  RankGroup& group() { return group_; }

  /// The mailbox of a lane, which both ends open in any order. `slots`: the most messages on the
  /// way. Throws Error if the other end asked for another number: its plan differs.
  Mailbox<Payload>& open(int from, int to, const LaneName& name, std::size_t slots) {
    const std::lock_guard lock(mutex_);
    auto& box = boxes_[{from, to, name}];
    if (!box) {
      box =
          std::make_unique<Mailbox<Payload>>(slots, group_.eventCount(from), group_.eventCount(to));
    } else if (box->slots() != slots) {
      throw Error("ranks " + std::to_string(from) + " and " + std::to_string(to) +
                  " do not agree on the messages between them (" + std::to_string(box->slots()) +
                  " and " + std::to_string(slots) + " a step); do both run the same schedule?");
    }
    return *box;
  }

  /// Messages that one thread put and another took, so far.
  std::int64_t handOvers() const {
    const std::lock_guard lock(mutex_);
    std::int64_t sum = 0;
    for (const auto& [lane, box] : boxes_) sum += box->handOvers();
    return sum;
  }

 private:
  RankGroup group_;
  mutable std::mutex mutex_;
  std::map<std::tuple<int, int, LaneName>, std::unique_ptr<Mailbox<Payload>>> boxes_;
};

/// The sending end of a local lane. A send is done when the message is in the mailbox.
template <typename Payload>
class LocalSendLane : public SendLane<Payload> {
 public:
  LocalSendLane(LocalLanes<Payload>& lanes, int from, int to, const LaneName& name,
                std::size_t slots, const StampClock& clock)
      : group_(lanes.group()),
        box_(lanes.open(from, to, name, slots)),
        from_(from),
        to_(to),
        clock_(clock) {}

  void send(const MessageKey& key, Payload&& message) override {
    if (group_.hasFailed()) group_.throwIfFailed(from_, sending(key, to_));
    const MessageHeader header{.key = key, .sequence = sent_++, .shape = shapeOf(message)};
    stamp_ = clock_ ? clock_() : 0;
    if (!box_.put(header, std::move(message), stamp_)) {
      group_.throwIfFailed(from_, sending(key, to_));
    }
  }

  std::optional<std::uint64_t> nextDone() override { return stamp_; }
  void awaitAll() override {}

 private:
  RankGroup& group_;
  Mailbox<Payload>& box_;
  const int from_;
  const int to_;
  const StampClock& clock_;
  std::uint64_t sent_ = 0;
  std::uint64_t stamp_ = 0;
};

/// The receiving end.
template <typename Payload>
class LocalReceiveLane : public ReceiveLane<Payload> {
 public:
  using Arrival = typename ReceiveLane<Payload>::Arrival;

  LocalReceiveLane(LocalLanes<Payload>& lanes, int from, int to, const LaneName& name,
                   std::size_t slots)
      : group_(lanes.group()), box_(lanes.open(from, to, name, slots)), from_(from), to_(to) {}

  std::uint64_t post(const MessageKey&) override { return posted_++; }

  Arrival take(std::uint64_t number, const MessageKey& key) override {
    typename Mailbox<Payload>::Letter letter;
    if (!box_.take(number, letter)) group_.throwIfFailed(to_, waitingFor(key, from_));
    check_.require(letter.header, {.key = key, .sequence = number}, to_, from_);
    return {std::move(letter.payload), letter.stamp};
  }

  bool has(std::uint64_t number) const override { return box_.has(number); }

 private:
  RankGroup& group_;
  Mailbox<Payload>& box_;
  const int from_;
  const int to_;
  HeaderCheck check_;
  std::uint64_t posted_ = 0;
};

}  // namespace pipetrace
