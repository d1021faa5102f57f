#include "schedule/action.h"

#include <cassert>

namespace pipetrace {
namespace {

std::string cell(int stage, std::string_view letters, int microBatch) {
  return std::to_string(stage) + std::string(letters) +
         (microBatch < 0 ? "" : std::to_string(microBatch));
}

}  // namespace

std::string toText(const Action& action) {
  if (isScalarAllReduce(action.kind)) return std::string(kAgreeCell);
  if (action.kind == JobKind::kForwardBackward) {
    return "(" + cell(action.stage, "F", action.microBatch) + ";" +
           cell(action.backwardStage, "B", action.backwardMicroBatch) + ")OVERLAP_F_B";
  }
  const std::string_view letters = rowOf(action.kind).cell;
  assert(!letters.empty() && "a kind that no plan holds");
  const std::string whole = cell(action.stage, letters, action.microBatch);
  return action.isPart() ? whole + "." + std::to_string(action.part) : whole;
}

}  // namespace pipetrace
