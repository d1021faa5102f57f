#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "trace/log/log_format.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The key of an argument of a found pair whose stages are not known yet: the micro-batch of its
/// backward, as that of its forward counts. Analysis gives it an action in place of it.
inline constexpr std::string_view kPairedMicroBatch = "backward_micro_batch";

/// The two halves of a job of kind forward_backward.
struct FusedPair {
  int forwardStage = 0;
  int forwardMicroBatch = 0;
  int backwardStage = 0;
  int backwardMicroBatch = 0;
};

/// Reads the pair from the job's action, such as "(0F7;7B3)OVERLAP_F_B": only the action names the
/// backward. Nothing for other jobs, and for a job without an action.
inline std::optional<FusedPair> fusedPairOf(const Timeline& timeline, const Event& job) {
  if (job.kind != JobKind::kForwardBackward) return std::nullopt;
  for (const Argument& argument : timeline.argumentsOf(job)) {
    if (argument.type != ArgumentType::kText) continue;
    if (timeline.strings[argument.key] != log_format::kAction) continue;
    const std::string action(timeline.strings[argument.text]);
    FusedPair pair;
    const int read =
        std::sscanf(action.c_str(), "(%9dF%9d;%9dB%9d)", &pair.forwardStage,
                    &pair.forwardMicroBatch, &pair.backwardStage, &pair.backwardMicroBatch);
    if (read == 4) return pair;
  }
  return std::nullopt;
}

}  // namespace pipetrace
