#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/event.h"

namespace pipetrace {

class NameTable;

/// A name of an event, taken apart.
struct JobName {
  JobKind kind = JobKind::kOther;
  std::int32_t step = kNotGiven;
  std::int32_t microBatch = kNotGiven;
  std::int32_t stage = kNotGiven;
  std::int16_t chunk = kNotGiven;
  std::int16_t part = kNotGiven;
  bool isAsked = false;  ///< a file of --kinds gave it

  bool operator==(const JobName&) const = default;
};

/// Looks up names of other programs' traces: first among those that --kinds gave, then among the
/// words of the job log, then among unambiguous names of known programs. It remembers its results;
/// not thread-safe.
class JobNames {
 public:
  /// `given` may be null and must outlive it.
  explicit JobNames(const NameTable* given) : given_(given) {}

  /// The meaning of `name`; kOther without numbers if it says nothing. The reference holds as long
  /// as this object.
  const JobName& operator[](std::string_view name);

  /// Whether the user gave a file of kinds.
  bool isAsked() const;

 private:
  const NameTable* given_;
  std::unordered_map<std::string, JobName> known_;
};

}  // namespace pipetrace
