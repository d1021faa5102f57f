#include "parser/job_log/lines/rank_part.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "parser/job_log/lines/log_line.h"
#include "parser/trace_reader.h"
#include "trace/append.h"
#include "trace/log/log_format.h"
#include "trace/log/rank_info_fields.h"
#include "trace/text/decimal_time.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

namespace lf = log_format;

const char* messageOf(const MissingEnd& end) {
  switch (end.recorder) {
    case RecorderState::kRecords: return "no Profiler End line: the program still runs";
    case RecorderState::kEnded:
      return "no Profiler End line: the program ended without closing its log";
    case RecorderState::kUnknown: break;
  }
  if (end.ring == MissingEnd::Ring::kNone) return "no Profiler End line: the log was cut off";
  return "no Profiler End line: the program ended without closing its log, or it still runs";
}

const char* adviceOf(const MissingEnd& end) {
  switch (end.ring) {
    case MissingEnd::Ring::kNone: return "jobs after its last line are missing";
    case MissingEnd::Ring::kRead:
      return "the records that it had not written are read from its ring file; jobs that were open "
             "are missing, and of a Python program on a CPU those of the step that it was in";
    case MissingEnd::Ring::kReadWithLosses:
      return "the records in its ring file are read; records that were lost before that are "
             "missing, and jobs that were open";
  }
  return "";
}

struct Wording {
  Severity severity;
  const char* message;
  const char* advice;
  DoubtKind doubt = DoubtKind::kNone;
};

constexpr std::array<Wording, kLogFindingCount> kWordings = {{
    {Severity::kWarning, "the last line is cut off and was left out",
     "the program was still running, or ended without closing its log"},
    {Severity::kWarning, "a line of the profiler could not be understood and was left out",
     "docs/log-format.md says what each should look like; two programs writing one file mix "
     "their lines"},
    {Severity::kWarning, "a number is too large for its field; the line was left out",
     "times are milliseconds since 1970, other numbers at most 2147483647", DoubtKind::kNoTime},
    {Severity::kWarning, "a job ends before it starts and was left out",
     "the clock was set back, or two clocks were mixed", DoubtKind::kNoTime},
    {Severity::kWarning, "a part of a line is no `key = value` and was left out",
     "quote values that hold blanks or commas as JSON strings"},
    {Severity::kWarning, "a value does not fit its key and was left out",
     "docs/log-format.md lists what each key holds"},
    {Severity::kWarning, "bytes that are no UTF-8 were replaced", ""},
    {Severity::kWarning, "a line of the profiler holds NUL bytes and was left out",
     "the file system lost a part of the file, or two programs write it"},
    {Severity::kWarning, "a line longer than 1 MiB was left out", ""},
    {Severity::kWarning, "the log was written in a newer format than this program knows",
     "use a newer pipe-trace if something is missing"},
    {Severity::kWarning, "its Profiler Meta line names another rank than the file name",
     "the Meta line's rank is used; was the file renamed?"},
    {Severity::kWarning, "its runs are of different ranks, of which only one was read",
     "under a name other than workerlog.<rank> a file is read as the logs of several ranks"},
    {Severity::kWarning, "its rank was read from another file already; the events are put together",
     "give the logs of one run only"},
    {Severity::kWarning, "records were dropped while recording",
     "the profile has gaps there. Each stream holds ringSlots (in C ring_slots) records until they "
     "are written; that number can be raised. 4096 samples of counters are held. Records whose "
     "lines the disk did not take count, too"},
    {Severity::kWarning, "calls of the recorder were out of place and recorded nothing",
     "begin on a stream whose job is open, end without begin, a job still open at close. Also a "
     "stream that was not added, a job that was not initialized, a counter function that threw"},
    {Severity::kWarning, "writes to the log failed while recording",
     "was the disk full, or the log's folder deleted? What was not written is counted as dropped"},
    {Severity::kWarning, "errors occurred while recording",
     "such as begin on a stream whose job is open, end without begin, or a stream that was not "
     "added. Or the log could not be written (disk full, folder deleted)"},
    {Severity::kWarning, "lines are missing that its Profiler End line counts as written",
     "a part of the log was removed, or overwritten by another program"},
}};

/// Offers each pair of a line to fields by name, and counts its faults.
class Fields {
 public:
  Fields(RankPart& part, std::string_view payload, std::int64_t number)
      : part_(part), fields_(payload), number_(number) {}

  bool next() {
    if (fields_.next(field_)) return true;
    if (fields_.malformed()) part_.findings.add(LogFinding::kMalformedField, number_);
    return false;
  }

  void take(std::string_view key, std::string& out) {
    if (is(key)) out = field_.value;
  }

  template <typename Number>
  void take(std::string_view key, Number& out) {
    std::optional<Number> value;
    take(key, value);
    if (value) out = *value;
  }

  template <typename Number>
  void take(std::string_view key, std::optional<Number>& out) {
    if (!is(key)) return;
    if (const auto value = parseNumber<Number>(field_.value)) {
      out = value;
    } else {
      part_.findings.add(LogFinding::kBadValue, number_);
    }
  }

  template <RankFieldPlace kPlace>
  void takeFieldsOf(RankInfo& info) {
    visitRankFieldsIn<kPlace>(
        [&]<typename Field>(Field, auto member) { take(Field::kKey, info.*member); });
  }

  void time(std::string_view key, std::optional<Nanoseconds>& out) {
    if (!is(key)) return;
    out = parseDecimalTime(field_.value, kNsPerMs);
    if (!out) part_.findings.add(LogFinding::kBadValue, number_);
  }

 private:
  bool is(std::string_view key) const { return field_.key == key; }

  RankPart& part_;
  LogFields fields_;
  LogFields::Field field_;
  std::int64_t number_;
};

}  // namespace

Diagnostic MissingEnd::toDiagnostic(const std::string& file) const {
  return {.file = file, .message = messageOf(*this), .advice = adviceOf(*this)};
}

std::int64_t RankPart::eventCount() const {
  std::size_t count = 0;
  for (const auto& [name, events] : lanes) count += events.size();
  return static_cast<std::int64_t>(count);
}

std::int64_t RankPart::countedLines(const StringTable& strings) const {
  const auto isCounted = [&](const Event& event) {
    if (event.kind == JobKind::kKernel) return false;
    const auto from = arguments.begin() + event.firstArgument;
    return std::none_of(from, from + event.argumentCount, [&](const Argument& each) {
      return strings[each.key] == log_format::kCommunicator;
    });
  };
  std::int64_t lines = findings.linesLeftOut();
  for (const auto& [name, events] : lanes) {
    lines += name == log_format::kNcclLane || name == kKernelsLane
                 ? std::count_if(events.begin(), events.end(), isCounted)
                 : static_cast<std::int64_t>(events.size());
  }
  for (const auto& [name, series] : counters) {
    lines += static_cast<std::int64_t>(series.samples.size());
  }
  return lines;
}

std::vector<Event>& RankPart::laneOf(std::string_view name) {
  auto found = lanes.find(name);
  if (found == lanes.end()) found = lanes.try_emplace(std::string(name)).first;
  return found->second;
}

void RankPart::clearEvents() {
  for (auto& [name, events] : lanes) events.clear();
  arguments.clear();
  counters.clear();
  findings = {};
}

void RankPart::moveTo(Timeline& timeline, int rank) {
  const EventRemap remap(timeline.arguments.size());
  append(std::move(arguments), timeline.arguments);
  for (auto& [name, events] : lanes) {
    remap(events);
    append(std::move(events), timeline.track(rank, name).events);
  }
  for (auto& [name, series] : counters) {
    series.rank = rank;
    timeline.counters.push_back(std::move(series));
  }
  info.rank = rank;
  timeline.ranks[rank] = std::move(info);
  *this = {};
}

void LogFindings::add(LogFinding finding, std::int64_t line, std::int64_t count) {
  Seen& seen = seen_[static_cast<std::size_t>(finding)];
  if (seen.count == 0) seen.line = line;
  seen.count = addCounts(seen.count, count);
}

std::int64_t LogFindings::linesLeftOut() const {
  std::int64_t lines = 0;
  for (const LogFinding finding :
       {LogFinding::kNotUnderstood, LogFinding::kNumberOutOfRange, LogFinding::kEndBeforeStart,
        LogFinding::kNulBytes, LogFinding::kLineTooLong}) {
    lines = addCounts(lines, count(finding));
  }
  return lines;
}

void LogFindings::addAll(const LogFindings& others, std::int64_t before) {
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const Seen& other = others.seen_[i];
    if (other.count > 0) add(static_cast<LogFinding>(i), before + other.line, other.count);
  }
}

void LogFindings::report(const std::string& file, Diagnostics& diagnostics) const {
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i].count == 0) continue;
    const Wording& wording = kWordings[i];
    diagnostics.add({.severity = wording.severity,
                     .file = file,
                     .line = seen_[i].line,
                     .message = wording.message,
                     .advice = wording.advice,
                     .count = seen_[i].count,
                     .doubt = wording.doubt});
  }
}

void readMetaLine(RankPart& part, std::string_view payload, std::int64_t number) {
  std::optional<int> rank;
  int version = 0;
  Fields fields(part, payload, number);
  while (fields.next()) {
    fields.take(lf::kVersionKey, version);
    fields.take(lf::kRank, rank);
    fields.takeFieldsOf<RankFieldPlace::kMeta>(part.info);
    fields.take(lf::kRing, part.ringFile);
  }
  part.hasMeta = true;
  if (rank && *rank >= 0 && *rank <= kHighestRank) {
    part.metaRank = rank;
  } else if (rank) {
    part.findings.add(LogFinding::kBadValue, number);
  }
  if (version > lf::kVersion) part.findings.add(LogFinding::kNewerVersion, number);
}

void readClockLine(RankPart& part, std::string_view payload, std::int64_t number) {
  std::optional<Nanoseconds> when;
  std::optional<Nanoseconds> offset;
  std::optional<Nanoseconds> bound;
  Fields fields(part, payload, number);
  while (fields.next()) {
    fields.time(lf::kTime, when);
    fields.take(lf::kOffset, offset);
    fields.take(lf::kBound, bound);
  }
  if (when && offset && bound) {
    part.info.clockReadings.push_back({*when, *offset, *bound});
  } else {
    part.findings.add(LogFinding::kNotUnderstood, number);
  }
}

void readFirstStepLine(RankPart& part, std::string_view payload, std::int64_t number) {
  constexpr int kHighestStep = 1'000'000'000;  // leaves room for those after it
  const std::size_t end = payload.find(kLastStepMark);
  if (end == std::string_view::npos || part.info.firstStep) return;
  const auto step = parseNumber<int>(payload.substr(0, end));
  if (step && *step >= 0 && *step <= kHighestStep) {
    part.info.firstStep = step;
  } else {
    part.findings.add(LogFinding::kBadValue, number);
  }
}

void readEndLine(RankPart& part, std::string_view payload, std::int64_t number) {
  RankInfo& info = part.info;
  Fields fields(part, payload, number);
  while (fields.next()) fields.takeFieldsOf<RankFieldPlace::kEnd>(info);
  info.hasEnd = true;
  if (info.dropped > 0) part.findings.add(LogFinding::kDropped, number, info.dropped);
  const auto addFinding = [&](LogFinding finding, std::int64_t count) {
    if (count > 0) part.findings.add(finding, number, count);
  };
  addFinding(LogFinding::kMisuses, info.misuses);
  addFinding(LogFinding::kFailedWrites, info.failedWrites);
  if (info.misuses <= 0 && info.failedWrites <= 0) {
    addFinding(LogFinding::kRecordingErrors, info.errors);
  }
}

}  // namespace pipetrace
