#include "analysis/steps/skipped_types.h"

namespace pipetrace {

SkippedTypes::SkippedTypes(const std::vector<std::string>& types, const StringTable& strings)
    : strings_(strings) {
  for (const std::string& type : types) {
    const JobKind kind = jobKindFromLogName(type);
    if (kind == JobKind::kOther && type != logName(JobKind::kOther)) {
      names_.insert(type);
    } else {
      kinds_[static_cast<std::size_t>(kind)] = true;
    }
  }
}

}  // namespace pipetrace
