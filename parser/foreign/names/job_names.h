#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "parser/foreign/names/kind_names.h"

namespace pipetrace {

/// What the names in other programs' traces mean: what the user says (--kinds), then the words of
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
