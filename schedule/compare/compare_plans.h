#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/comm_streams.h"
#include "schedule/costs.h"
#include "schedule/plan.h"
#include "schedule/scale/scale_option.h"

namespace pipetrace {

/// The plan with the work that its costs give a time to. These are reductions of stages on several
/// ranks, the agreement of all ranks, and recomputes of single stages. A plan that has recomputes
/// keeps its own. `plan` may have problems. Throws Error as withScalarAllReduce() does, where
/// `agreement` asks for it.
Plan withCostedWork(Plan plan, const Costs& costs,
                    const char* agreement = "an agreement of all ranks");

/// The size, the costs and the limits that all plans of a comparison share.
struct CompareInput {
  int ranks = 1;
  int microBatches = 1;
  int mostChunks = 4;  ///< plans with 1 to that many virtual stages a rank are compared
  /// One stage a rank: its whole share of the model (splitOverChunks()). Faults are of links only.
  Costs shares;
  /// Ranks that are slower than others whatever stages they have (kRank), in each plan.
  std::vector<ScaleOption> slowRanks;
  bool hasMemory = false;        ///< memory is in bytes; else it counts activations
  std::int64_t memoryLimit = 0;  ///< bytes that a rank may hold; 0: any. Needs hasMemory
  /// The same in activations of whole shares, in millionths of one; 0: any. Without hasMemory.
  std::int64_t activationLimit = 0;
  /// Without lines a message moves when it is made.
  CommStreams commStreams = CommStreams::kAsReached;
  int threads = 1;  ///< 0: one per core. They make no difference to the result
};

/// A plan and its figures, which are those of one step (docs/metrics.md).
struct ComparedPlan {
  std::string_view schedule;  ///< as in knownSchedules()
  int chunks = 1;
  std::string name;  ///< of the plan; of auto it says what it came from
  std::uint64_t fingerprint = 0;
  /// With lines, the shorter one of the two orders below.
  Nanoseconds length = 0;
  double bubbleRatio = 0;
  double peakActivations = 0;   ///< whole shares: the activation of a chunk is 1 / chunks of one
  std::int64_t peakMemory = 0;  ///< bytes, of the rank that holds most; 0 without memory
  int messages = 0;             ///< between ranks
  int weightVersions = 1;       ///< most that a stage keeps
  bool isAsynchronous = false;  ///< weights change without a flush: another training
  /// By how much another batch right after it makes an asynchronous plan longer. Its length is that
  /// of a batch alone, with an empty pipeline before and after it. None: the plan has a flush, or
  /// messages on lines.
  std::optional<Nanoseconds> steadyStep;
  bool hasWeightsTwice = false;  ///< each stage stands on two ranks
  /// How long a step takes with messages on lines, of CompareInput::commStreams or else one a rank,
  /// in torch's order and in that of their times (order_messages.h). None: it has no messages, or
  /// cannot run so.
  std::optional<Nanoseconds> inTorchOrder;
  std::optional<Nanoseconds> inTime;

  /// Whether messages have to be in the order of their times: torch's order takes longer, by more
  /// than half a per cent, or does not run.
  bool needsOrderInTime() const;
};

/// A schedule that is not compared with those numbers of chunks, and why.
struct LeftOutPlan {
  std::string_view schedule;
  std::vector<int> chunks;
  std::string reason;  ///< a phrase such as "over the limit"
  std::string detail;  ///< such as "8.00 activations on rank 0"; often empty
};

/// The result of comparePlans().
struct ComparedPlans {
  /// The shortest step first; of equal ones that which holds less, then that with fewer messages.
  std::vector<ComparedPlan> plans;
  std::vector<LeftOutPlan> leftOut;  ///< in the order of knownSchedules()
};

/// Builds and simulates every schedule that trains with every number of chunks. A plan is what
/// `pipe-trace plan` makes of the same costs, split over its chunks: with recomputes and reductions
/// (withCostedWork()).
///
/// Left out are schedules that train nothing, chunks that a schedule cannot have, plans that exceed
/// the limit, and plans of more than two million jobs.
///
/// Throws Error for ranks, micro-batches or chunks below 1, and for shares of another number of
/// ranks.
ComparedPlans comparePlans(const CompareInput& input);

}  // namespace pipetrace
