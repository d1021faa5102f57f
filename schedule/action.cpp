#include "schedule/action.h"

#include <cassert>

namespace pipetrace {
namespace {

const char* letters(JobKind kind) {
  switch (kind) {
    case JobKind::kForward: return "F";
    case JobKind::kBackward: return "B";
    case JobKind::kBackwardInput: return "I";
    case JobKind::kBackwardWeight: return "W";
    case JobKind::kRecompute: return "R";
    case JobKind::kSendForward: return "SEND_F";
    case JobKind::kRecvForward: return "RECV_F";
    case JobKind::kSendBackward: return "SEND_B";
    case JobKind::kRecvBackward: return "RECV_B";
    case JobKind::kAllGather: return "UNSHARD";
    case JobKind::kOther: return "RESHARD";
    case JobKind::kReduceScatter: return "REDUCE_GRAD";
    default: assert(false && "a kind that no plan holds"); return "?";
  }
}

std::string cell(int stage, const char* letters, int microBatch) {
  return std::to_string(stage) + letters + (microBatch < 0 ? "" : std::to_string(microBatch));
}

}  // namespace

std::string toText(const Action& action) {
  if (isAgreement(action.kind)) return std::string(kAgreeCell);
  if (action.kind == JobKind::kForwardBackward) {
    return "(" + cell(action.stage, "F", action.microBatch) + ";" +
           cell(action.backwardStage, "B", action.backwardMicroBatch) + ")OVERLAP_F_B";
  }
  const std::string whole = cell(action.stage, letters(action.kind), action.microBatch);
  return action.isPart() ? whole + "." + std::to_string(action.part) : whole;
}

}  // namespace pipetrace
