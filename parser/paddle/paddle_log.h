#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/diagnostic.h"

namespace pipetrace {

/// A job as PaddlePaddle's script sees it: texts, and the doubles that it computes.
struct PaddleLogJob {
  std::string id;
  std::string type;
  std::string microBatch;
  double begin = 0;  ///< microseconds: the text to a double, times 1000
  double end = 0;
};

struct PaddleLog {
  std::vector<PaddleLogJob> jobs;
  std::int64_t startStep = 0;  ///< `Schedule Profiler start at step N and end at step`, else 0
};

/// Reads the text of one log, the file `name`, with the script's regular expressions. Jobs whose
/// lines name the phase evaluate or predict are left out, with a note: the script knows training
/// steps only.
PaddleLog readPaddleLog(std::string text, const std::string& name, Diagnostics& diagnostics);

}  // namespace pipetrace
