#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Whether the program that recorded into a log still runs.
enum class RecorderState : std::uint8_t {
  kUnknown,  ///< no sign of it: the log was never locked, was copied, or is on another host
  kRecords,
  kEnded,
};

/// The facts about a run whose log has a `Profiler Meta:` line and no `Profiler End:`.
struct MissingEnd {
  /// The run's ring file.
  enum class Ring : std::uint8_t {
    kNone,  ///< nothing could be read of it
    kRead,
    kReadWithLosses,  ///< ... but records that are in neither were lost before
  };

  Ring ring = Ring::kNone;
  RecorderState recorder = RecorderState::kUnknown;

  /// A diagnostic about `file` that says so, and which jobs are missing.
  Diagnostic toDiagnostic(const std::string& file) const;
};

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

/// The lane of `Profiler Kernel:` lines.
inline constexpr std::string_view kKernelsLane = "kernels";

/// The part of one run that one rank recorded, as far as its log has been read. A log that was
/// appended to holds several, each from a `Profiler Meta:` line on. Strings are interned in the
/// table of the timeline that it is meant for.
struct RankPart {
  RankInfo info;
  bool hasMeta = false;
  std::optional<int> metaRank;  ///< as its Meta line says
  std::string ringFile;         ///< as its Meta line says; a name in the folder of the log
  MissingEnd missingEnd;        ///< if it lacks its end
  bool isLatest = true;         ///< no run of its rank follows in the log
  std::map<std::string, std::vector<Event>, std::less<>> lanes;
  std::vector<Argument> arguments;
  std::map<std::string, CounterSeries, std::less<>> counters;
  LogFindings findings;

  std::int64_t eventCount() const;
  bool lacksEnd() const { return hasMeta && !info.hasEnd; }

  /// The number of lines read that the recorder counts as `written` in its `Profiler End:` line:
  /// not those of kernels and of NCCL. `strings` holds the strings of the arguments.
  std::int64_t countedLines(const StringTable& strings) const;

  /// The events of a lane, made if missing. The reference holds as long as this object.
  std::vector<Event>& laneOf(std::string_view name);

  /// Removes events, arguments, samples and findings; their memory is kept for new ones.
  void clearEvents();

  /// Moves all of it to `timeline` as rank `rank`; this object is empty afterwards.
  void moveTo(Timeline& timeline, int rank);
};

/// These functions put the lines about the run itself into `part.info`. Each takes the text after
/// its mark; `number` is the line's, for findings. Unknown keys are left out.
void readMetaLine(RankPart& part, std::string_view payload, std::int64_t number);
void readClockLine(RankPart& part, std::string_view payload, std::int64_t number);
/// The first of several such lines in one run counts.
void readFirstStepLine(RankPart& part, std::string_view payload, std::int64_t number);
void readEndLine(RankPart& part, std::string_view payload, std::int64_t number);

}  // namespace pipetrace
