#pragma once

#include <re2/re2.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// What a named group of --pattern gives.
enum class LineField : std::uint8_t {
  kType,
  kName,
  kStart,
  kEnd,
  kDuration,
  kMicroBatch,
  kStep,
  kStage,
  kChunk,
  kPart,
  kId,
  kRank,
  kPeer,
  kStream,
  kArgument,  ///< any other name
};

/// The regular expression of --pattern: how a line of any program says what a job was. Any number
/// of threads may use one at once.
class LinePattern {
 public:
  struct Group {
    LineField field = LineField::kArgument;
    std::string name;
    int index = 0;  ///< of its text in what match() gives
  };

  /// `unit`: what times in the lines are in, in nanoseconds. Throws Error for what is no regular
  /// expression (RE2), and for one without the groups that a job needs: `type` or `name`, `start`,
  /// and `end` or `duration`.
  LinePattern(const std::string& pattern, Nanoseconds unit);

  Nanoseconds unit() const { return unit_; }

  /// The named groups; each field once.
  const std::vector<Group>& groups() const { return groups_; }

  /// Looks for the expression in a line of UTF-8. `texts` gets what the groups matched, empty for
  /// those that took no part. The line has to outlive it.
  bool match(std::string_view line, std::vector<re2::StringPiece>& texts) const;

 private:
  bool has(LineField field) const;

  re2::RE2 pattern_;
  Nanoseconds unit_;
  std::vector<Group> groups_;
};

}  // namespace pipetrace
