#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/log/log_lines.h"
#include "trace/log/ring_format.h"

namespace pipetrace {

/// The contents of a ring file (trace/log/ring_format.h), which may not be in the log: of a process
/// that was killed, or, if it still runs, of this moment. Texts are views into the file's bytes.
struct RingContents {
  struct Job {
    bool isCompute = false;
    bool isInLogPossibly = false;  ///< its line was made; it is not known whether it was written
    /// It is known when the job was queued, but not when it ran.
    bool isUntimed = false;
    /// For compute jobs, `job` is the id, and the rest may be given.
    StreamLine line;
    std::string_view action;
    JobDetails details = {};
  };
  /// A job that had begun and not ended.
  struct OpenJob {
    bool isCompute = false;
    StreamLine line;
    std::string_view action;
  };

  /// A stream whose records are kept in the file.
  struct Lane {
    std::string_view name;  ///< cut off if longer than the file has room for
    bool isCompute = false;
  };

  std::string_view meta;     ///< the text after the mark of the run's Meta line
  std::int64_t process = 0;  ///< the one that recorded
  std::vector<Lane> lanes;
  std::vector<Job> jobs;  ///< by begin
  std::vector<OpenJob> open;
  std::vector<CounterLine> samples;
  /// Jobs and samples that had found the ring full, or whose lines could not be written.
  std::int64_t dropped = 0;
  /// Streams that are not in the file, as there was no room for them.
  std::int64_t lanesNotKept = 0;

  /// Whether records of a lane of the log may have been in this file.
  bool keeps(std::string_view lane) const;
};

/// Reads `bytes`, the whole of a ring file. Nothing if they cannot be read as one; `whyNot` then
/// says why. Whatever is in them, nothing outside of them is accessed.
std::optional<RingContents> readRing(std::string_view bytes, std::string& whyNot);

/// Reads the header of a ring file; false, with the reason, if `bytes` are none that can be read.
bool readRingHeader(std::string_view bytes, ring_format::FileHeader& header, std::string& whyNot);

/// Whether a file that begins like this is a ring file.
bool isRing(std::string_view head);

}  // namespace pipetrace
