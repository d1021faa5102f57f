#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "analysis/causes/culprits.h"
#include "analysis/run/run.h"
#include "schedule/comm_streams.h"

namespace pipetrace {

struct FollowedSchedule;

/// The lines of a run that has any, by what they hold:
/// - kEdge: each has the sends to one rank, or the receives from one;
/// - kDirection: each has activations alone, or gradients alone;
/// - kPeer: each is of one other rank;
/// - kRank: anything else.
CommStreams linesOfRun(const JobGraph& graph);

/// A run with its messages in the order of their times.
struct RunInTime {
  /// Of a step: by a simulation with the medians of the run's times. In findings it is the median
  /// step, changed as much as the simulated one.
  Nanoseconds length = 0;
  Nanoseconds asItWas = 0;  ///< of a step, simulated with the messages in the run's order
  Nanoseconds usual = 0;    ///< of the run's median step
  CommStreams lines = CommStreams::kRank;  ///< the run's
  /// These are of the run's plan, which has that order with --transfers in-time. `schedule` is
  /// empty where none is known.
  std::string schedule;
  int ranks = 0;
  int microBatches = 0;
  int chunks = 0;    ///< of a rank; 0: one
  std::string logs;  ///< the run's, as a shell reads them
};

/// Messages that hold up those behind them on their lines.
struct HeldLines {
  enum class Ends { kReceives, kSends, kBoth };

  std::string first;                  ///< the end that costs most, such as "8RECV_F0"
  int rank = 0;                       ///< whose that is
  std::size_t count = 1;              ///< the fewest ends that cost four fifths of the time
  Ends ends = Ends::kReceives;        ///< what these are
  std::optional<RunInTime> inTime{};  ///< where it is shorter than the median step
};

/// `group` is of kBlocked and has all messages in front.
HeldLines heldLinesOf(const JobGraph& graph, const CulpritGroup& group);

/// Simulates a step of the run on its own lines, its messages in the order of their times
/// (withMessagesInTime()). None where the step is not all there, or no plan has its order. Does not
/// know RunInTime::usual and logs.
std::optional<RunInTime> runInTime(const Run& run);

}  // namespace pipetrace
