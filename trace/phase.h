#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pipetrace {

/// A step is of one phase. Steps count on over all phases, so no number occurs twice.
enum class Phase : std::uint8_t {
  kTraining,
  kEvaluate,  ///< forwards and a loss, between training steps
  kPredict,   ///< forwards alone
};

inline constexpr int kPhaseCount = static_cast<int>(Phase::kPredict) + 1;

/// The value of `phase` in the job log: "evaluate", "predict"; empty for training, of which the log
/// says nothing.
constexpr std::string_view logName(Phase phase) {
  switch (phase) {
    case Phase::kTraining: break;
    case Phase::kEvaluate: return "evaluate";
    case Phase::kPredict: return "predict";
  }
  return {};
}

/// The inverse. Nothing for any other text, an empty one included.
constexpr std::optional<Phase> phaseFromLogName(std::string_view name) {
  for (const Phase phase : {Phase::kEvaluate, Phase::kPredict}) {
    if (name == logName(phase)) return phase;
  }
  return std::nullopt;
}

}  // namespace pipetrace
