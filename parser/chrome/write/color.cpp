#include "parser/chrome/write/color.h"

namespace pipetrace {

std::string_view chromeColor(const Event& event) {
  switch (event.kind) {
    case JobKind::kForward: return "rail_response";                   // blue
    case JobKind::kBackward: return "rail_load";                      // green
    case JobKind::kBackwardInput: return "good";                      // dark green
    case JobKind::kBackwardWeight: return "cq_build_attempt_passed";  // light green
    case JobKind::kForwardBackward: return "background_memory_dump";  // teal
    case JobKind::kRecompute: return "thread_state_runnable";         // pale blue
    case JobKind::kLr: return "generic_work";                         // grey
    case JobKind::kOptimizer: return "startup";                       // yellow
    case JobKind::kSendForward:
    case JobKind::kSendBackward: return "rail_idle";  // orange
    case JobKind::kRecvForward:
    case JobKind::kRecvBackward: return "cq_build_running";  // pale yellow
    case JobKind::kAllReduce:
    case JobKind::kAllGather:
    case JobKind::kReduceScatter: return "thread_state_unknown";
    case JobKind::kBubble: return "grey";
    case JobKind::kData:
    case JobKind::kDefault:
    case JobKind::kCopy:
    case JobKind::kKernel:
    case JobKind::kOther: break;
  }
  return {};
}

}  // namespace pipetrace
