#pragma once

#include <cstdint>
#include <string_view>

#include "parser/job_log/lines/rank_part.h"

namespace pipetrace {

/// These functions put the lines about the run itself into `part.info`. Each takes the text after
/// its mark; `number` is the line's, for findings. Unknown keys are left out.
void readMetaLine(RankPart& part, std::string_view payload, std::int64_t number);
void readClockLine(RankPart& part, std::string_view payload, std::int64_t number);
/// The first of several such lines in one run counts.
void readFirstStepLine(RankPart& part, std::string_view payload, std::int64_t number);
void readEndLine(RankPart& part, std::string_view payload, std::int64_t number);

}  // namespace pipetrace
