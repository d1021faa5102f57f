#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include "runtime/lanes/event_count.h"
#include "runtime/lanes/message_header.h"

namespace pipetrace {

/// The messages on their way from one thread to one other, in their order. A ring of slots that are
/// made once: neither side allocates. The receiver may take messages out of their order, as long as
/// the first that it has not taken is in the ring.
///
/// `Payload` is what moves: default constructible and movable. A slot keeps none once it was taken.
///
/// Threads: one puts, one takes.
template <typename Payload>
class Mailbox {
 public:
  /// A message as it is taken.
  struct Letter {
    MessageHeader header;
    Payload payload{};
    std::uint64_t stamp = 0;  ///< the sender's, of when it was put
  };

  /// `slots`: the most messages that wait to be taken; put() waits while there are that many. The
  /// event counts are those of the threads at the two ends, and must outlive the mailbox.
  Mailbox(std::size_t slots, EventCount& sender, EventCount& receiver)
      : slotCount_(slots), slots_(new Slot[slots]), sender_(sender), receiver_(receiver) {}

  std::size_t slots() const { return slotCount_; }

  /// Waits for a free slot. Returns false, and leaves the payload, if the sender's eventCount was
  /// stopped before there was one.
  bool put(const MessageHeader& header, Payload&& payload, std::uint64_t stamp = 0) noexcept {
    Slot& slot = slots_[put_ % slotCount_];
    const std::uint64_t free = 2 * (put_ / slotCount_);
    if (slot.turn.load() != free &&
        !sender_.wait(&slot, [&] { return slot.turn.load() == free; })) {
      return false;
    }
    slot.letter.header = header;
    slot.letter.payload = std::move(payload);
    slot.letter.stamp = stamp;
    slot.putBy = std::this_thread::get_id();
    ++put_;
    slot.turn.store(free + 1);
    receiver_.ring(&slot);
    return true;
  }

  /// Whether message `number`, counted from 0 in the order of put(), is there.
  bool has(std::uint64_t number) const noexcept {
    return slots_[number % slotCount_].turn.load() == 2 * (number / slotCount_) + 1;
  }

  /// Waits for that message and takes it; each is taken once. Returns false if the receiver's
  /// eventCount was stopped before it was there.
  bool take(std::uint64_t number, Letter& letter) noexcept {
    Slot& slot = slots_[number % slotCount_];
    if (!has(number) && !receiver_.wait(&slot, [&] { return has(number); })) return false;
    letter = std::move(slot.letter);
    slot.letter.payload = Payload{};
    if (slot.putBy != std::this_thread::get_id()) {
      handOvers_.store(handOvers() + 1, std::memory_order_relaxed);
    }
    slot.turn.store(2 * (number / slotCount_) + 2);
    sender_.ring(&slot);
    return true;
  }

  /// Messages that one thread put and another took. Any thread.
  std::int64_t handOvers() const noexcept { return handOvers_.load(std::memory_order_relaxed); }

 private:
  // turn: 2 n before the slot's nth use, 2 n + 1 while it holds that message.
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> turn = 0;
    Letter letter;
    std::thread::id putBy;
  };

  const std::size_t slotCount_;
  const std::unique_ptr<Slot[]> slots_;
  EventCount& sender_;
  EventCount& receiver_;
  std::uint64_t put_ = 0;  // the sender's
  std::atomic<std::int64_t> handOvers_ = 0;
};

}  // namespace pipetrace
