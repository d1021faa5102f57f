#pragma once

#include <cstdint>
#include <string_view>

#include "parser/job_log/lines/log_run.h"

namespace pipetrace {

/// What the lines that are about the run itself say, put into `run.info`. Each takes what follows
/// its mark; `number` is the line's, for findings. Unknown keys are left out.
void readMetaLine(LogRun& run, std::string_view payload, std::int64_t number);
void readClockLine(LogRun& run, std::string_view payload, std::int64_t number);
/// Of several in one run the first counts.
void readFirstStepLine(LogRun& run, std::string_view payload, std::int64_t number);
void readEndLine(LogRun& run, std::string_view payload, std::int64_t number);

}  // namespace pipetrace
