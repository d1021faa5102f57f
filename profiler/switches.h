#pragma once

#include <string>

#include "profiler/on_off.h"
#include "profiler/step_range.h"

namespace pipetrace {

/// The environment's word on recording:
///
///     PIPETRACE                     1, on, true, yes: record. 0, off, false, no: do not
///     PIPETRACE_LOG_DIR             where the logs go
///     PIPETRACE_STEPS               A:B, the steps A to B - 1 only; A, that step
///     FLAGS_auto_parallel_profiler  PaddlePaddle's switch; counts where PIPETRACE is not set
///     GLOG_v                        below 0: PaddlePaddle's switch writes nothing
struct Switches {
  OnOff isOn = OnOff::undecided();
  std::string logDirectory;  ///< empty: not given
  StepRange steps;           ///< all, if not given

  /// Throws Error, which names the variable, for a value that means nothing.
  static Switches fromEnvironment();
};

}  // namespace pipetrace
