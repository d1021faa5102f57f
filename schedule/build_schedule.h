#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/costs.h"
#include "schedule/plan.h"

namespace pipetrace {

/// The size that a plan is built for.
struct PlanSize {
  int ranks = 1;
  int microBatches = 1;
  int chunks = 0;  ///< virtual stages per rank; 0: what the schedule usually has
};

/// The input of the schedule `auto`; the others ignore it.
struct AutoInput {
  Costs costs;  ///< of all virtual stages; empty: forward and both halves equal, free transfers
  std::int64_t memoryLimit = 0;  ///< as AutoOptions
};

/// The plan that the schedule of that name gives. Names and aliases are taken in any case, with or
/// without '-', '_' and blanks ("1F1B", "f-then-b"). Throws Error for a name that is unknown (with
/// the names that are known), for ranks or micro-batches below 1, and for chunks that the schedule
/// cannot have.
Plan buildSchedule(std::string_view name, const PlanSize& size, const AutoInput& input = {});
/// The plan of FThenB, GPipe, 1F1B, PipeDream or PipeDream-2BW with stages on these ranks, and with
/// these depths (onStageRanks()). Throws Error for other schedules, too.
Plan buildOnStageRanks(std::string_view name, const std::vector<std::vector<int>>& ranksOfStage,
                       int microBatches, const std::vector<int>& depths = {});
/// Its input.
struct StageMap {
  std::vector<std::vector<int>> ranks;  ///< of each stage
  std::vector<int> depths;              ///< with how many forwards each warms up; empty: as usual
};
/// The map of the options --stage-ranks and --stage-depths, of which one may be empty; without the
/// first there is one rank a stage. Throws Error that says what they take.
StageMap stageMapOptions(std::string_view stageRanks, std::string_view stageDepths, int ranks);
inline Plan buildSchedule(std::string_view name, int ranks, int microBatches) {
  return buildSchedule(name, PlanSize{ranks, microBatches});
}

/// A schedule, described for lists and help texts.
struct ScheduleInfo {
  std::string_view name;
  std::vector<std::string_view> aliases;  ///< other projects' names, as they write them
  int usualChunks = 1;
  int leastChunks = 1;
  int mostChunks = 1;        ///< the largest int: any number
  std::string_view summary;  ///< one line without a full stop
  bool splitsBackward = false;
  bool isAsynchronous = false;
  bool isForwardOnly = false;   ///< it trains nothing
  bool dependsOnCosts = false;  ///< its order follows from AutoInput
};

/// All that buildSchedule() knows, in the order in which lists show it.
const std::vector<ScheduleInfo>& knownSchedules();

/// Whether one has that name or alias.
bool isSchedule(std::string_view name);

/// The one of that name or alias. Throws Error as buildSchedule() does.
const ScheduleInfo& scheduleInfo(std::string_view name);

/// `size` as buildSchedule() takes it, with the usual chunks where they are left open. Throws Error
/// as buildSchedule() does.
PlanSize settledSize(std::string_view name, const PlanSize& size);

/// The names of knownSchedules().
std::vector<std::string> scheduleNames();

}  // namespace pipetrace
