#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace pipetrace {

/// Steps from `first` up to, and without, `end`, as PaddlePaddle counts them: {3, 6} are the steps
/// 3, 4 and 5; {5, 3} is none. Of these every `every`th, the first among them: readers know by the
/// numbers of steps that others lie between.
struct StepRange {
  std::int32_t first = std::numeric_limits<std::int32_t>::min();
  std::int32_t end = std::numeric_limits<std::int32_t>::max();
  std::int32_t every = 1;  ///< at least 1

  bool contains(std::int32_t step) const noexcept {
    if (step < first || step >= end) return false;
    return every == 1 || (step - (first < 0 ? 0 : first)) % every == 0;
  }
  bool operator==(const StepRange&) const = default;
};

/// "3:6"; "3:" and ":6" have one end only, "3" is one step. "3:60:10" are the steps 3, 13, 23, 33,
/// 43 and 53, and "::10" every tenth. Throws Error for anything else.
StepRange parseStepRange(std::string_view text);

/// Whether to record. A bool is a decision. Without one recording is off, and a recorder that is
/// given a log folder reports how to switch it on.
class OnOff {
 public:
  // Implicit: `options.isOn = true` is how a program decides.
  constexpr OnOff(bool isOn) noexcept : isOn_(isOn), isDecided_(true) {}
  static constexpr OnOff undecided() noexcept { return {}; }

  constexpr operator bool() const noexcept { return isOn_; }
  constexpr bool isDecided() const noexcept { return isDecided_; }

 private:
  constexpr OnOff() noexcept = default;

  bool isOn_ = false;
  bool isDecided_ = false;
};

/// The environment's word on recording:
///
///     PIPETRACE                     1, on, true, yes: record. 0, off, false, no: do not
///     PIPETRACE_LOG_DIR             where the logs go
///     PIPETRACE_STEPS               A:B, the steps A to B - 1 only; A, that step; A:B:N, each Nth
///     PIPETRACE_LOG_COMPRESS        zstd: logs are compressed, see compressesLogs()
///     PIPETRACE_NVML                0: figures of the GPU are not recorded, see samplesGpu()
///     FLAGS_auto_parallel_profiler  PaddlePaddle's switch; counts where PIPETRACE is not set
///     GLOG_v                        below 0: PaddlePaddle's switch writes nothing
struct Switches {
  OnOff isOn = OnOff::undecided();
  std::string logDirectory;  ///< empty: not given
  StepRange steps;           ///< all, if not given

  /// Throws Error, which names the variable, for a value that means nothing.
  static Switches fromEnvironment();
};

/// Whether the logs of recorders are compressed, workerlog.<rank>.zst: where PIPETRACE_LOG_COMPRESS
/// is zstd. Throws Error, which names the variable, for a value that means nothing.
bool compressesLogs();

/// Whether a recorder samples NVML's figures of its GPU: unless PIPETRACE_NVML is 0. Throws Error,
/// which names the variable, for a value that means nothing.
bool samplesGpu();

}  // namespace pipetrace
