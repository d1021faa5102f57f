#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "chart/colors/theme.h"
#include "trace/event.h"

namespace pipetrace {

/// The load of a stretch of time in a lane: the time that events cover, and their mean colour,
/// weighted by time (white if there are none).
struct LaneLoad {
  Nanoseconds busy = 0;
  Color color{255, 255, 255};
};

/// The events of one sub-lane, which do not overlap. Sums over them give the exact load of any
/// stretch of time, at a cost that does not depend on the number of events in it. Times and colours
/// are kept beside the events in a dense form, 12.5 bytes an event, so that drawing seldom has to
/// fetch an event from memory. Refers to the events, which must outlive it. Immutable: several
/// threads may read it.
class LaneIndex {
 public:
  LaneIndex() = default;
  /// Indexes all of `events`, which are in startsBefore order. Refers to `colors`, too.
  LaneIndex(std::span<const Event> events, const JobColors& colors);
  /// Indexes the `events` at the positions `members`, which ascend.
  LaneIndex(std::span<const Event> events, std::vector<std::uint32_t> members,
            const JobColors& colors);

  /// Sums up again, after the colours have changed. Not while another thread asks for loads.
  void recolor();
  /// Takes the colours from there on, of as many chunks as before.
  void setColors(const JobColors& colors);

  std::size_t size() const { return members_.empty() ? events_.size() : members_.size(); }
  const Event& operator[](std::size_t i) const {
    return events_[members_.empty() ? i : members_[i]];
  }

  /// As of the event at that position.
  Nanoseconds beginOf(std::size_t i) const {
    const Block& block = blocks_[i / kBlock];
    return block.isLong ? (*this)[i].begin : blockBegins_[i / kBlock] + block.begins[i % kBlock];
  }
  Nanoseconds endOf(std::size_t i) const {
    const Block& block = blocks_[i / kBlock];
    return block.isLong ? (*this)[i].end : blockBegins_[i / kBlock] + block.ends[i % kBlock];
  }
  Color colorOf(std::size_t i) const { return colors_[blocks_[i / kBlock].colors[i % kBlock]]; }

  /// Says that the event at position `i`, if there is one, will be asked about soon.
  void prefetch(std::size_t i) const {
    if (i / kBlock >= blocks_.size()) return;
    const char* const block = reinterpret_cast<const char*>(&blocks_[i / kBlock]);
    __builtin_prefetch(block);
    __builtin_prefetch(block + 64);
    __builtin_prefetch(block + 128);
  }

  /// The first event at or after position `from` that begins at `time` or later; size() if none.
  std::size_t firstBeginningAt(Nanoseconds time, std::size_t from = 0) const;
  /// The first event that ends after `time`; size() if none.
  std::size_t firstEndingAfter(Nanoseconds time) const;

  /// The load of [begin, end), counting only the events at positions [first, last).
  LaneLoad load(std::size_t first, std::size_t last, Nanoseconds begin, Nanoseconds end) const;
  /// The load of [begin, end).
  LaneLoad load(Nanoseconds begin, Nanoseconds end) const;

 private:
  // Sums weighted by time. Unsigned, so that a sum over a whole run may wrap: differences stay
  // right.
  struct Sums {
    std::uint64_t busy = 0;
    std::uint64_t red = 0;
    std::uint64_t green = 0;
    std::uint64_t blue = 0;

    void add(std::uint64_t time, Color color) {
      busy += time;
      red += time * color.red;
      green += time * color.green;
      blue += time * color.blue;
    }
  };

  static constexpr std::size_t kBlock = 16;

  /// Sixteen events, three cache lines.
  struct alignas(64) Block {
    Sums before;                                 // of all events before the block
    std::array<std::uint32_t, kBlock> begins{};  // since the block's begin
    std::array<std::uint32_t, kBlock> ends{};
    std::array<std::uint8_t, kBlock> colors{};  // in colors_
    bool isLong = false;  // longer than 32 bits hold: the events' own times count
  };

  void build();
  std::uint8_t colorNumber(const Event& event);
  void addPart(Sums& sums, std::size_t i, Nanoseconds begin, Nanoseconds end) const;
  void addWhole(Sums& sums, std::size_t first, std::size_t last) const;
  Sums sumsBefore(std::size_t i) const;

  const JobColors* jobColors_ = nullptr;  // null only without events
  std::span<const Event> events_;
  std::vector<std::uint32_t> members_;  // empty: all events
  std::vector<Block> blocks_;
  std::vector<Nanoseconds> blockBegins_;  // of the first event of the block
  std::vector<std::uint16_t> slots_;      // of the colours in colors_
  std::vector<Color> colors_;             // those of the events
};

/// One lane of one rank, with sub-lanes where its events overlap.
struct ChartRow {
  int rank = 0;
  std::string lane;
  bool isCompute = false;
  std::vector<LaneIndex> lanes;    ///< the sub-lanes; at least one, maybe without events
  std::vector<LaneIndex> bubbles;  ///< the rank's idle time, drawn in its compute row
  std::string rankLabel;           ///< "rank 0" on the first row of a rank, else empty
  std::string rankDetail;          ///< under it: "stage 0", "stages 0, 4"
};

}  // namespace pipetrace
