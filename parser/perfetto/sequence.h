#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/files/output_file.h"
#include "trace/timeline.h"

namespace pipetrace {

/// A buffer to write bytes into by pointer, which goes to a file in large pieces.
class PacketBuffer {
 public:
  /// `besides`: another thread writes the pieces, and only that thread uses `out` until finish().
  PacketBuffer(OutputFile& out, bool besides) : out_(out), besides_(besides), bytes_(kChunk) {}
  PacketBuffer(const PacketBuffer&) = delete;
  PacketBuffer& operator=(const PacketBuffer&) = delete;

  /// A place where at least `size` bytes can be written. Then call used() with the end of what was.
  char* room(std::size_t size) {
    if (used_ + size > bytes_.size()) {
      flush();
      if (size > bytes_.size()) bytes_.resize(size);
    }
    return bytes_.data() + used_;
  }
  void used(const char* end) { used_ = static_cast<std::size_t>(end - bytes_.data()); }

  /// Writes the rest; returns when everything has been written. Throws what writing threw, as
  /// room() may.
  void finish() {
    flush();
    if (writing_.valid()) writing_.get();
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 19;

  void flush() {
    const std::size_t size = std::exchange(used_, 0);
    if (!besides_) return out_.write({bytes_.data(), size});
    if (writing_.valid()) writing_.get();
    handedOn_.resize(bytes_.size());
    bytes_.swap(handedOn_);
    // With both policies, the next call writes it where no thread can be started.
    writing_ = std::async(std::launch::async | std::launch::deferred, [this, size] {
      out_.write({handedOn_.data(), size});
    });
  }

  OutputFile& out_;
  bool besides_;
  std::vector<char> bytes_;
  std::size_t used_ = 0;
  std::vector<char> handedOn_;  // what is being written
  std::future<void> writing_;   // last: it ends before what it uses
};

/// Numbers from 1 for distinct keys (never 0), in the order in which they first come. The table is
/// flat, because every name of a big trace is looked up.
class InternTable {
 public:
  struct Found {
    std::uint32_t number = 0;
    bool isNew = false;
  };

  Found operator()(std::uint64_t key) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slotOf(key);
    if (slot.key == key) return {slot.number, false};
    slot = {key, static_cast<std::uint32_t>(++used_)};
    return {slot.number, true};
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t number = 0;
  };

  Slot& slotOf(std::uint64_t key) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (key * 0x9e3779b97f4a7c15U) >> shift_;
    while (slots_[at].key != 0 && slots_[at].key != key) at = (at + 1) & mask;
    return slots_[at];
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : slots_.size() * 2);
    shift_ -= slots_.empty() ? 4 : 1;
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.key != 0) slotOf(slot.key) = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
  int shift_ = 64;
};

/// The keys of arguments that a profile writes under another name, because they mean a field of the
/// event. By StringId.
class ReservedKeys {
 public:
  explicit ReservedKeys(const StringTable& strings);
  bool has(StringId key) const { return reserved_[key]; }

 private:
  std::vector<bool> reserved_;
};

/// The link of a micro-batch's chain that an event is, or one end of an arrow from launch to run.
struct PerfettoFlow {
  std::uint32_t id = 0;  ///< 0: none
  bool isLast = false;
  std::uint32_t endOfLaunch = 0;  ///< an arrow that ends here besides; 0: none
};

/// The packets of one track: one writer sequence with its own interned names. Each call writes one
/// packet.
class PerfettoSequence {
 public:
  /// `number`, above 0, is the id of the sequence and of its track. The references must outlive it.
  PerfettoSequence(const Timeline& timeline, const ReservedKeys& reserved, std::uint32_t number);

  /// Writes the first packet. `descriptor` is a serialized TrackDescriptor without its uuid.
  void appendDescriptor(PacketBuffer& out, std::string_view descriptor) const;

  /// `time` counts from the profile's origin.
  void appendBegin(PacketBuffer& out, const Event& event, std::uint64_t time, PerfettoFlow flow);
  void appendEnd(PacketBuffer& out, std::uint64_t time);
  void appendSample(PacketBuffer& out, std::uint64_t time, double value);

 private:
  char* putArguments(char* to, const Event& event);
  char* putField(char* to, std::uint32_t field, std::int64_t value);
  char* putArgument(char* to, std::uint32_t name, const Argument& argument);
  std::uint32_t nameOf(const Event& event);
  std::uint32_t categoryOf(JobKind kind);
  std::uint32_t argumentName(std::span<const Argument> list, std::size_t position);
  std::uint32_t textOf(StringId text);
  void intern(std::uint32_t table, std::uint32_t iid, std::string_view text);
  void appendPacket(PacketBuffer& out, std::uint64_t time, std::string_view trackEvent);

  const Timeline& timeline_;
  const ReservedKeys& reserved_;
  std::uint32_t number_;
  InternTable iids_;
  std::uint32_t fieldsSent_ = 0;  // bits: the names of an event's own fields
  std::uint32_t kindsSent_ = 0;
  std::string head_;         // of every packet: sequence and flags
  std::string end_;          // the TrackEvent of every end
  std::vector<char> event_;  // the TrackEvent that is being made ...
  std::string interned_;     // ... and what it interns
};

}  // namespace pipetrace
