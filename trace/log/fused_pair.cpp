#include "trace/log/fused_pair.h"

#include <cstdio>
#include <string>

#include "trace/log/log_format.h"

namespace pipetrace {

std::optional<FusedPair> fusedPairOf(const Timeline& timeline, const Event& job) {
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
