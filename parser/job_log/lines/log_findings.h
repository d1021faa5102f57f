#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "trace/diagnostic.h"

namespace pipetrace {

/// The faults that a job log can have.
enum class LogFinding : std::uint8_t {
  kLastLineCutOff,
  kNotUnderstood,
  kNumberOutOfRange,
  kEndBeforeStart,
  kMalformedField,
  kBadValue,
  kInvalidUtf8,
  kNulBytes,
  kLineTooLong,
  kNewerVersion,
  kOtherRank,
  kSeveralRanks,
  kRankTaken,
  kDropped,
  kMisuses,
  kFailedWrites,
  kRecordingErrors,
  kLinesMissing,
};

inline constexpr int kLogFindingCount = static_cast<int>(LogFinding::kLinesMissing) + 1;

/// Counts findings, with the line of the first of each kind.
class LogFindings {
 public:
  /// `line` is 1-based; 0: the finding is not about one line.
  void add(LogFinding finding, std::int64_t line, std::int64_t count = 1);
  /// Adds the findings of later lines: the first line of `others` is line `before` + 1.
  void addAll(const LogFindings& others, std::int64_t before);
  std::int64_t count(LogFinding finding) const { return of(finding).count; }
  /// The number of lines that were left out.
  std::int64_t linesLeftOut() const;
  /// Reports them as diagnostics about `file`, in the order of the enumeration.
  void report(const std::string& file, Diagnostics& diagnostics) const;

 private:
  struct Seen {
    std::int64_t line = 0;
    std::int64_t count = 0;
  };
  const Seen& of(LogFinding finding) const { return seen_[static_cast<std::size_t>(finding)]; }

  std::array<Seen, kLogFindingCount> seen_{};
};

}  // namespace pipetrace
