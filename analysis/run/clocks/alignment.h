#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Converts the times of every rank to rank 0's clock, by the comparisons of the two clocks in the
/// rank's log (RankInfo::clockReadings, RankClock). The readings of a converted rank then have an
/// offset of 0 and the same bound, so aligning twice changes nothing more.
///
/// Ranks of one host get the most exact clock of theirs, and on rank 0's host that of rank 0. A
/// rank whose own readings do not agree with it, within the bounds of both, keeps its own.
///
/// The times of ranks without readings stay as they are. `diagnostics` reports such ranks where
/// others have readings, readings that cannot be true (among them an offset in rank 0's own log),
/// and the ranks that were converted. The returned timeline is sorted.
Timeline alignedByLog(Timeline timeline, Diagnostics& diagnostics);

/// How times of several hosts are put into one clock.
enum class AlignBy : std::uint8_t {
  /// The logs' comparisons of the clocks where there are any, else the order of messages. Jobs that
  /// begin plainly before their data were made have their order count, too (plainlyApart()).
  kBest,
  kNone,    ///< times stay as they were logged
  kLog,     ///< by the logs' comparisons
  kCausal,  ///< by the order of messages, and of jobs between ranks without messages
};

/// The clock of a host, and how it was aligned.
struct HostAlignment {
  std::string host;        ///< "host1"; "rank 3" where the logs do not say it
  std::vector<int> ranks;  ///< ascending
  bool isMoved = false;    ///< the first host, whose clock all get, is not
  Nanoseconds offset = 0;  ///< first host's clock - this one's, when this host's first event began
  double drift = 0;        ///< how much the offset grows, ppm
  /// The times of this host are off by at most this. Empty: nobody knows.
  std::optional<Nanoseconds> bound;
  /// How long before it is sent a message of this host is still received, at most.
  Nanoseconds residual = 0;
  std::int64_t messages = 0;  ///< to and from other hosts; a collective is one for each pair
  std::int64_t violationsBefore = 0;  ///< of these, received before they are sent, as logged
  std::int64_t violationsAfter = 0;   ///< and once aligned
};

/// The clocks of a run.
struct Alignment {
  AlignBy by = AlignBy::kNone;       ///< what was done; kLog, kCausal or kNone
  std::vector<HostAlignment> hosts;  ///< in the order of their lowest ranks
};

/// Puts the times of all ranks into the clock of rank 0 (of the lowest rank, where rank 0 is
/// missing): alignedByLog() or alignedByMessages(). `result`, if given, is filled in. Then messages
/// that arrive before they are sent are a warning, if by more than the bounds of both clocks and
/// kClockTolerance; these clocks have no bound. Ranks whose jobs were plainly early have
/// RankInfo::clockApart, if times were moved by the order of jobs. Uses that many threads, which
/// makes no difference to the result.
Timeline aligned(Timeline timeline, AlignBy by, Diagnostics& diagnostics,
                 Alignment* result = nullptr, int threads = 1);

}  // namespace pipetrace
