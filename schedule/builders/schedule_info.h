#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/closed_form.h"
#include "schedule/costs.h"
#include "schedule/plan.h"

namespace pipetrace {

/// The size that a plan is built for.
struct PlanSize {
  int ranks = 1;
  int microBatches = 1;
  int chunks = 0;  ///< virtual stages per rank; 0: what the schedule usually has
};

/// The input of schedules that depend on costs; the others ignore it.
struct AutoInput {
  Costs costs;  ///< of all virtual stages; empty: forward and both halves equal, free transfers
  std::int64_t memoryLimit = 0;  ///< as AutoOptions
};

/// The input of plans whose stages stand on several ranks.
struct StageMap {
  std::vector<std::vector<int>> ranks;  ///< of each stage
  std::vector<int> depths;              ///< with how many forwards each warms up; empty: as usual
};

/// On which ranks a schedule has its stages; p is the number of ranks.
enum class StagePlaces {
  kLooped,   ///< stage s on rank s % p
  kVShaped,  ///< two chunks: stages s and 2 p - 1 - s on rank s
};

/// Someone does this in a framework to get a schedule, or cannot have it there for this reason.
struct FrameworkAnswer {
  std::string text;
  bool exists = true;
};

/// A schedule: its order, and the one row of all else that must be known of it. The row stands
/// beside the order in schedule/builders/, and the list in schedule/builders/schedules.h.
struct ScheduleInfo {
  static constexpr int kAnyNumber = std::numeric_limits<int>::max();

  std::string_view name;
  std::string_view aliases;  ///< other projects' names, as they write them: "AFAB, Fill-Drain"
  std::string_view summary;  ///< one line without a full stop
  int usualChunks = 1;
  int leastChunks = 1;
  int mostChunks = 1;
  StagePlaces places = StagePlaces::kLooped;
  /// Each stage is also on the rank as far from the other end, which has it for the second half of
  /// the micro-batches.
  bool isBidirectional = false;
  bool splitsBackward = false;
  bool isAsynchronous = false;
  bool isForwardOnly = false;   ///< it trains nothing
  bool dependsOnCosts = false;  ///< its order follows from AutoInput

  /// Its order. Chunks are settled, and ranks and micro-batches at least 1, in any relation to each
  /// other.
  ///
  /// A paper may define its schedule for some sizes only: micro-batches a multiple of the ranks, at
  /// least twice as many, an even number of ranks …. Other sizes are planned as the next larger
  /// size that the paper covers. Then the work of micro-batches (as a rule the first) and ranks
  /// that do not exist is left out. A plan that can run still can after that.
  Plan (*build)(const PlanSize& size) = nullptr;
  /// In place of `build` where it depends on costs.
  Plan (*search)(const PlanSize& size, const AutoInput& input) = nullptr;
  /// The order with several ranks a stage; null: it has none.
  Plan (*onStageRanks)(const StageMap& map, int microBatches) = nullptr;
  bool takesDepths = false;  ///< onStageRanks() also takes StageMap::depths

  /// Null, or nothing for a size and times: no formula is known.
  std::optional<ClosedForm> (*closedForm)(const FormInput& input) = nullptr;
  bool formHasRecompute = false;  ///< the formula holds where forwards run again

  /// A schedule with one chunk has another to try with more, and perhaps more to say of it.
  const ScheduleInfo* chunkedKin = nullptr;
  std::string_view ofChunkedKin;
  /// Whether its chunked kin is the same order, so that it is taken where chunks are asked for.
  bool becomesChunkedKin = false;
  /// The same order with warm-ups twice as deep, whose depths are tried to hide slow links.
  const ScheduleInfo* eagerKin = nullptr;

  /// The class of get_schedule_class() in torch.distributed.pipelining; empty: a plan in a file.
  std::string_view torch;
  bool torchTakesOneStage = false;  ///< that class is for several stages, and gets a list of one
  /// Null: the framework does not have it.
  FrameworkAnswer (*megatron)(const PlanSize& size) = nullptr;
  FrameworkAnswer (*deepSpeed)(const PlanSize& size) = nullptr;
  std::string_view paddleMode;  ///< PaddlePaddle's schedule_mode; empty: its own name

  std::vector<std::string_view> aliasList() const;

  /// Whether nothing is missing in the row, and nothing contradicts the rest.
  constexpr bool isComplete() const {
    const bool hasOneChunk = mostChunks == 1;
    return !name.empty() && !summary.empty() && summary.back() != '.' && 1 <= leastChunks &&
           leastChunks <= usualChunks && usualChunks <= mostChunks &&
           (places != StagePlaces::kVShaped || (leastChunks == 2 && mostChunks == 2)) &&
           (build == nullptr) == dependsOnCosts && (search != nullptr) == dependsOnCosts &&
           (chunkedKin != nullptr) == hasOneChunk && (hasOneChunk || ofChunkedKin.empty()) &&
           (!becomesChunkedKin || hasOneChunk) && (!takesDepths || onStageRanks != nullptr) &&
           (eagerKin == nullptr || (onStageRanks != nullptr && !isAsynchronous)) &&
           (!formHasRecompute || closedForm != nullptr) && (!torchTakesOneStage || !torch.empty());
  }
};

/// The row itself; an incomplete one does not compile.
consteval ScheduleInfo complete(ScheduleInfo row) {
  if (!row.isComplete()) throw "a part of the row is missing, or contradicts another";
  return row;
}

}  // namespace pipetrace
