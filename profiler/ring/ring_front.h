#pragma once

#include <cstdint>

#include "profiler/clock/host_clock.h"
#include "profiler/ring/ring_file.h"
#include "trace/log/ring_format.h"

namespace pipetrace {

/// The first piece of a ring file: everything that a reader needs besides the jobs.
class RingFront {
 public:
  /// Takes the piece and fills in the header, all but the Meta line's text. `slots`: the slots of
  /// each lane.
  RingFront(RingFile& file, std::size_t slots, Nanoseconds wallOffset, const HostClock& clock);

  ring_format::FileHeader& header() { return *header_; }
  ring_format::Text* texts() { return texts_; }
  ring_format::CounterSlot* counters() { return counters_; }

  /// Log thread: adds the newest anchor of `clock`, unless it is there.
  void noteAnchor(const HostClock& clock) noexcept;
  /// Lane `index` is complete, at this place of the file; 0: the file has no room for it.
  void noteLane(int index, std::uint64_t offset) noexcept;
  /// This many more records have left the ring, or are about to, and will never be in the log.
  void noteLost(std::int64_t records) noexcept;
  /// The run's Meta line, with which the file is complete. `payload` is the text after its mark.
  void finish(const std::string& payload) noexcept;

 private:
  ring_format::FileHeader* header_;
  ring_format::Text* texts_;
  ring_format::CounterSlot* counters_;
};

}  // namespace pipetrace
