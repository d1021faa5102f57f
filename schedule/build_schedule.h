#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedule/builders/schedule_info.h"

namespace pipetrace {

/// The plan that the schedule of that name gives. Names and aliases are taken in any case, with or
/// without '-', '_' and blanks ("1F1B", "f-then-b"). Throws Error for a name that is unknown (with
/// the names that are known), for ranks or micro-batches below 1, and for chunks that the schedule
/// cannot have.
Plan buildSchedule(std::string_view name, const PlanSize& size, const AutoInput& input = {});
inline Plan buildSchedule(std::string_view name, int ranks, int microBatches, int chunks = 0) {
  return buildSchedule(name, PlanSize{ranks, microBatches, chunks});
}

/// The plan of a schedule that has one on several ranks a stage (ScheduleInfo::onStageRanks), with
/// stages on these ranks, and with these depths (onStageRanks()). Throws Error for other schedules,
/// too.
Plan buildOnStageRanks(std::string_view name, const std::vector<std::vector<int>>& ranksOfStage,
                       int microBatches, const std::vector<int>& depths = {});
/// The map of the options --stage-ranks and --stage-depths, of which one may be empty; without the
/// first there is one rank a stage. Throws Error that says what they take.
StageMap stageMapOptions(std::string_view stageRanks, std::string_view stageDepths, int ranks);

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
