#include "parser/job_log_reader.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "parser/line_reader.h"
#include "parser/log_events.h"
#include "parser/log_line_kind.h"
#include "parser/log_meta.h"
#include "parser/utf8.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// The runs of one rank in one log, of which the wanted one is kept.
struct RankRuns {
  std::optional<int> rank;  ///< as its Meta lines say
  LogRun run;               ///< the wanted one, or, until it comes, one before it
  int index = 0;            ///< of the latest run
  bool begun = false;       ///< a Meta line or a job has come
};

/// One pass over one log.
class Pass {
 public:
  Pass(ByteSource& source, const ReadRequest& request, StringTable& strings)
      : source_(source),
        lines_(source),
        wantedRun_(request.run),
        isOfOneRank_(request.rank.has_value()),
        events_(strings) {
    ranks_.emplace_back();
  }

  /// Of each rank the run that was asked for; at least one. Throws Error when one has not as many.
  std::vector<LogRun> take() {
    LineReader::Line line;
    while (lines_.next(line)) addLine(line);
    std::vector<LogRun> runs;
    for (RankRuns& rank : ranks_) {
      if (wantedRun_ > rank.index) throw Error(tooFewRuns(rank));
      LogRun& run = rank.run;
      if (run.hasMeta && !run.info.hasEnd) run.findings.add(LogFinding::kNoEnd, 0);
      runs.push_back(std::move(run));
    }
    return runs;
  }

  std::int64_t lineCount() const { return lines_.count(); }
  std::int64_t jobLineCount() const { return jobLines_; }

 private:
  void addLine(const LineReader::Line& line) {
    if (line.tooLong) {
      run().findings.add(LogFinding::kLineTooLong, line.number);
      return;
    }
    LogLine ours = classifyLogLine(line.text);
    if (ours.kind == LogLineKind::kOrdinary) return;
    if (ours.kind == LogLineKind::kInfo) {
      ++jobLines_;
      ranks_[current_].begun = true;
    }
    // Even a line that looks whole may lack the last digits of a number.
    if (!line.terminated) {
      run().findings.add(LogFinding::kLastLineCutOff, line.number);
      return;
    }
    if (ours.text.find('\0') != std::string_view::npos) {
      run().findings.add(LogFinding::kNulBytes, line.number);
      return;
    }
    if (ours.text.ends_with('\r')) ours.text.remove_suffix(1);
    if (!isUtf8(ours.text)) {
      run().findings.add(LogFinding::kInvalidUtf8, line.number);
      repaired_ = toUtf8(ours.text);
      ours.text = repaired_;
    }
    addOurs(classifyLogLine(ours.text), line.number);
  }

  void addOurs(const LogLine& line, std::int64_t number) {
    if (line.kind == LogLineKind::kMeta) return beginRun(line, number);
    if (!isWanted()) return;
    switch (line.kind) {
      case LogLineKind::kInfo: events_.addJob(run(), line.text, number); break;
      case LogLineKind::kStream: events_.addStream(run(), line.payload, number); break;
      case LogLineKind::kKernel: events_.addKernel(run(), line.payload, number); break;
      case LogLineKind::kCounter: events_.addCounter(run(), line.payload, number); break;
      case LogLineKind::kClock: readClockLine(run(), line.payload, number); break;
      case LogLineKind::kEnd: readEndLine(run(), line.payload, number); break;
      case LogLineKind::kMeta:
      case LogLineKind::kOrdinary: break;
    }
  }

  /// A Meta line opens a run of its rank, except that the first one of a log opens the run that is
  /// open anyway as long as no job has come before it.
  void beginRun(const LogLine& line, std::int64_t number) {
    LogRun meta;
    readMetaLine(meta, line.payload, number);
    const bool isOther = switchTo(meta.metaRank);
    RankRuns& rank = ranks_[current_];
    if (rank.begun) {
      ++rank.index;
      if (isWanted()) rank.run = {};
    }
    rank.begun = true;
    if (isOther) rank.run.findings.add(LogFinding::kSeveralRanks, number);
    if (isWanted()) readMetaLine(rank.run, line.payload, number);
  }

  /// Makes that rank the current one, and is true when it is another but may not be: a file that
  /// is named after one rank holds that rank only, whatever number it had in an older run.
  bool switchTo(std::optional<int> rank) {
    RankRuns& current = ranks_[current_];
    if (!rank || current.rank == rank) return false;
    if (!current.rank || isOfOneRank_) {
      return std::exchange(current.rank, rank).has_value();
    }
    current_ = 0;
    while (current_ < ranks_.size() && ranks_[current_].rank != rank) ++current_;
    if (current_ == ranks_.size()) ranks_.emplace_back().rank = rank;
    return false;
  }

  bool isWanted() const { return wantedRun_ < 0 || ranks_[current_].index == wantedRun_; }
  LogRun& run() { return ranks_[current_].run; }

  std::string tooFewRuns(const RankRuns& rank) const {
    std::string text = source_.name() + " holds " + std::to_string(rank.index + 1) +
                       (rank.index == 0 ? " run" : " runs");
    if (ranks_.size() > 1) text += " of rank " + std::to_string(*rank.rank);
    return text + ", so --run " + std::to_string(wantedRun_) +
           " is not there; they are counted from 0";
  }

  ByteSource& source_;
  LineReader lines_;
  int wantedRun_;
  bool isOfOneRank_;
  LogEvents events_;
  std::vector<RankRuns> ranks_;
  std::size_t current_ = 0;  // index in ranks_
  std::int64_t jobLines_ = 0;
  std::string repaired_;
};

std::string whyNone(const Pass& pass, const LogRun& run) {
  if (pass.lineCount() == 0) return "it is empty";
  const auto lines = [](std::int64_t n) {
    return std::to_string(n) + (n == 1 ? " line" : " lines");
  };
  if (pass.jobLineCount() == 0) {
    return "it holds " + lines(pass.lineCount()) + ", none with \"Profiler Info:\"";
  }
  if (run.findings.count(LogFinding::kLastLineCutOff) == pass.jobLineCount()) {
    return "its only line with \"Profiler Info:\" is cut off";
  }
  return "it holds " + lines(pass.jobLineCount()) +
         " with \"Profiler Info:\", but none that could be read";
}

/// The rank of a log: what its Meta line says, else its name, else the next free one.
int rankOf(const LogRun& run, const ReadRequest& request) {
  return run.metaRank.value_or(request.rank.value_or(request.nextRank));
}

}  // namespace

FormatMatch JobLogReader::probe(std::string_view head) const {
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    if (classifyLogLine(head.substr(0, end)).kind != LogLineKind::kOrdinary) {
      return FormatMatch::kCertain;
    }
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  return FormatMatch::kPossible;
}

ReadOutcome JobLogReader::read(ByteSource& source, const ReadRequest& request, Timeline& timeline,
                               Diagnostics& diagnostics) const {
  Pass pass(source, request, timeline.strings);
  std::vector<LogRun> runs = pass.take();
  ReadOutcome outcome;
  for (const LogRun& run : runs) outcome.events += run.eventCount();
  if (outcome.events == 0) outcome.whyNone = whyNone(pass, runs.back());
  for (LogRun& run : runs) {
    const int rank = rankOf(run, request);
    const bool hasEvents = run.eventCount() > 0;
    if (hasEvents && request.rank.value_or(rank) != rank) {
      run.findings.add(LogFinding::kOtherRank, 0);
    }
    if (hasEvents && timeline.ranks.contains(rank)) run.findings.add(LogFinding::kRankTaken, 0);
    run.findings.report(source.name(), diagnostics);
    if (hasEvents) {
      run.moveTo(timeline, rank);
    } else if (outcome.events > 0) {
      diagnostics.add({.file = source.name(),
                       .message = "no job of rank " + std::to_string(rank) + " in it",
                       .advice = "that rank is missing from the profile"});
    }
  }
  return outcome;
}

}  // namespace pipetrace
