#include "trace/job_kind.h"

#include <array>

namespace pipetrace {
namespace {

constexpr std::array<std::string_view, kJobKindCount> kLogNames = {"lr",
                                                                   "forward",
                                                                   "backward",
                                                                   "backward_input",
                                                                   "backward_weight",
                                                                   "forward_backward",
                                                                   "recompute",
                                                                   "optimizer",
                                                                   "data",
                                                                   "default",
                                                                   "send_forward",
                                                                   "recv_forward",
                                                                   "send_backward",
                                                                   "recv_backward",
                                                                   "all_reduce",
                                                                   "all_gather",
                                                                   "reduce_scatter",
                                                                   "copy",
                                                                   "checkpoint",
                                                                   "kernel",
                                                                   "bubble",
                                                                   "other"};

}  // namespace

std::string_view logName(JobKind kind) { return kLogNames[static_cast<std::size_t>(kind)]; }

JobKind jobKindFromLogName(std::string_view name) {
  for (int i = 0; i < kJobKindCount; ++i) {
    if (kLogNames[static_cast<std::size_t>(i)] == name) return static_cast<JobKind>(i);
  }
  if (name == "backward_b") return JobKind::kBackwardInput;
  if (name == "backward_w") return JobKind::kBackwardWeight;
  return JobKind::kOther;
}

}  // namespace pipetrace
