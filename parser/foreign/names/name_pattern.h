#pragma once

#include <re2/re2.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parser/foreign/names/known_names.h"

namespace pipetrace {

/// A regular expression for names of jobs of one kind. Its groups `step`, `micro_batch_id`,
/// `stage`, `chunk` and `part` (named as in RE2, `(?P<chunk>\d+)`) give these numbers. Any number
/// of threads may use one at once.
class NamePattern {
 public:
  NamePattern(std::string_view pattern, JobKind kind);

  /// The reason why it cannot be used; empty when it can.
  const std::string& fault() const { return fault_; }

  /// The kind and numbers of a name, which must match as a whole. A number that does not fit its
  /// field is not given.
  std::optional<JobName> match(std::string_view name) const;

 private:
  enum class Field { kNone, kStep, kMicroBatch, kStage, kChunk, kPart };
  static Field fieldOf(const std::string& group);

  re2::RE2 pattern_;
  JobKind kind_;
  std::string fault_;
  std::vector<Field> groups_;
};

}  // namespace pipetrace
