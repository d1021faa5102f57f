#include "schedule/simulate/critical_path.h"

namespace pipetrace {

std::string_view toText(WaitReason reason) {
  switch (reason) {
    case WaitReason::kStepBegin: return "begin of the step";
    case WaitReason::kRank: return "rank was busy";
    case WaitReason::kMessage: return "message";
    case WaitReason::kMaker: return "made then";
    case WaitReason::kLink: return "link was busy";
    case WaitReason::kReceive: return "receive was posted late";
  }
  return "";
}

std::map<JobKind, Nanoseconds> CriticalPath::totals() const {
  std::map<JobKind, Nanoseconds> totals;
  for (const Link& link : links) totals[link.kind] += link.end - link.begin;
  return totals;
}

}  // namespace pipetrace
