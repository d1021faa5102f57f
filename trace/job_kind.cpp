#include "trace/job_kind.h"

namespace pipetrace {

JobKind jobKindFromLogName(std::string_view name) {
  if (name.empty()) return JobKind::kOther;
  for (int i = 0; i < kJobKindCount; ++i) {
    const JobKindRow& row = kJobKinds[static_cast<std::size_t>(i)];
    if (row.name == name || row.paddleName == name) return row.kind;
  }
  return JobKind::kOther;
}

}  // namespace pipetrace
