#pragma once

#include <cstdint>

#include "trace/event.h"

namespace pipetrace {

/// A job as the program describes it when it begins.
struct Job {
  JobKind kind = JobKind::kDefault;
  std::int32_t microBatch = 0;
  std::int32_t step = kNotGiven;
  std::int32_t stage = kNotGiven;
  std::int32_t chunk = kNotGiven;
  std::int32_t peer = kNotGiven;   ///< transfers: the rank at the other end
  std::int64_t bytes = kNotGiven;  ///< transfers
  /// Compute lane: the job's identity, from Recorder::nextJobId(); kNotGiven lets the recorder
  /// choose one. Other lanes: the identity of the compute job that the transfer belongs to.
  std::int64_t id = kNotGiven;
  /// The plan's cell ("1F2"); null for none. On other lanes than the compute lane the ranks of a
  /// collective ("0 4"), which the log has as `members`. Must stay as it is until the recorder is
  /// closed; see Recorder::text().
  const char* action = nullptr;
  /// Compute lane: the part of the micro-batch (sub-job), up to 32767. A larger one is left out.
  std::int32_t part = kNotGiven;
  std::int32_t version = kNotGiven;  ///< compute lane: of the weights that the job uses
};

}  // namespace pipetrace
