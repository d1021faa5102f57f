#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/event.h"

namespace pipetrace {

class KindNames;

/// A name of an event, taken apart.
struct JobName {
  JobKind kind = JobKind::kOther;
  std::int32_t step = kNotGiven;
  std::int32_t microBatch = kNotGiven;
  std::int32_t stage = kNotGiven;
  std::int16_t chunk = kNotGiven;
  std::int16_t part = kNotGiven;
  bool isAsked = false;  ///< the user's --kinds said so

  bool operator==(const JobName&) const = default;
};

/// Looks up names of other programs' traces: first what the user says (--kinds), then the words of
/// the job log, then those of programs that we know. Remembers what it found; not thread-safe.
class JobNames {
 public:
  /// `asked` may be null and must outlive it.
  explicit JobNames(const KindNames* asked) : asked_(asked) {}

  /// A kOther without numbers for a name that says nothing. The reference holds as long as this.
  const JobName& operator[](std::string_view name);

  /// Whether the user says anything.
  bool isAsked() const { return asked_ != nullptr; }

 private:
  const KindNames* asked_;
  std::unordered_map<std::string, JobName> known_;
};

}  // namespace pipetrace
