#pragma once

#include "schedule/options/schedule_options.h"

namespace pipetrace {

class CommandApp;

/// Declares the options of a plan (OptionFace::planned), --ranks from 1 to `mostRanks`, in a group
/// of the help. Says that the name of a schedule alone is meant as --schedule NAME. `to` must
/// outlive `app`.
void addScheduleOptions(CommandApp& app, ScheduleOptions& to, int mostRanks, const char* group);

}  // namespace pipetrace
