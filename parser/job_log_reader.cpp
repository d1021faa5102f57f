#include "parser/job_log_reader.h"

#include <algorithm>
#include <utility>

#include "parser/line_reader.h"
#include "parser/log_events.h"
#include "parser/log_line_kind.h"
#include "parser/log_meta.h"
#include "parser/utf8.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// One pass over one log.
class Pass {
 public:
  Pass(ByteSource& source, int wantedRun, StringTable& strings)
      : source_(source), lines_(source), wantedRun_(wantedRun), events_(strings) {}

  /// The run that was asked for. Throws Error when the log has not as many.
  LogRun take() {
    LineReader::Line line;
    while (lines_.next(line)) addLine(line);
    if (wantedRun_ > runIndex_) {
      throw Error(source_.name() + " holds " + std::to_string(runIndex_ + 1) +
                  (runIndex_ == 0 ? " run" : " runs") + ", so --run " + std::to_string(wantedRun_) +
                  " is not there; they are counted from 0");
    }
    if (run_.hasMeta && !run_.info.hasEnd) run_.findings.add(LogFinding::kNoEnd, 0);
    return std::move(run_);
  }

  std::int64_t lineCount() const { return lines_.count(); }
  std::int64_t jobLineCount() const { return jobLines_; }

 private:
  void addLine(const LineReader::Line& line) {
    if (line.tooLong) {
      run_.findings.add(LogFinding::kLineTooLong, line.number);
      return;
    }
    LogLine ours = classifyLogLine(line.text);
    if (ours.kind == LogLineKind::kOrdinary) return;
    if (ours.kind == LogLineKind::kInfo) ++jobLines_;
    // Even a line that looks whole may lack the last digits of a number.
    if (!line.terminated) {
      run_.findings.add(LogFinding::kLastLineCutOff, line.number);
      return;
    }
    if (ours.text.find('\0') != std::string_view::npos) {
      run_.findings.add(LogFinding::kNulBytes, line.number);
      return;
    }
    if (ours.text.ends_with('\r')) ours.text.remove_suffix(1);
    if (!isUtf8(ours.text)) {
      run_.findings.add(LogFinding::kInvalidUtf8, line.number);
      repaired_ = toUtf8(ours.text);
      ours.text = repaired_;
    }
    addOurs(classifyLogLine(ours.text), line.number);
  }

  void addOurs(const LogLine& line, std::int64_t number) {
    if (line.kind == LogLineKind::kMeta) beginRun();
    const bool isWanted = wantedRun_ < 0 || runIndex_ == wantedRun_;
    if (!isWanted) return;
    switch (line.kind) {
      case LogLineKind::kInfo: events_.addJob(run_, line.text, number); break;
      case LogLineKind::kStream: events_.addStream(run_, line.payload, number); break;
      case LogLineKind::kKernel: events_.addKernel(run_, line.payload, number); break;
      case LogLineKind::kCounter: events_.addCounter(run_, line.payload, number); break;
      case LogLineKind::kMeta: readMetaLine(run_, line.payload, number); break;
      case LogLineKind::kClock: readClockLine(run_, line.payload, number); break;
      case LogLineKind::kEnd: readEndLine(run_, line.payload, number); break;
      case LogLineKind::kOrdinary: break;
    }
  }

  /// A Meta line opens a run, except that the first one of a log opens the one that is open anyway
  /// as long as nothing has come before it.
  void beginRun() {
    const bool isFirst = runIndex_ == 0 && !metaSeen_ && jobLines_ == 0;
    metaSeen_ = true;
    if (isFirst) return;
    ++runIndex_;
    if (wantedRun_ < 0 || runIndex_ == wantedRun_) run_ = {};
  }

  ByteSource& source_;
  LineReader lines_;
  int wantedRun_;
  LogEvents events_;
  LogRun run_;
  int runIndex_ = 0;
  bool metaSeen_ = false;
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
  Pass pass(source, request.run, timeline.strings);
  LogRun run = pass.take();
  ReadOutcome outcome;
  outcome.events = run.eventCount();
  const int rank = rankOf(run, request);
  if (outcome.events > 0) {
    if (request.rank && run.metaRank && *request.rank != *run.metaRank) {
      run.findings.add(LogFinding::kOtherRank, 0);
    }
    if (timeline.ranks.contains(rank)) run.findings.add(LogFinding::kRankTaken, 0);
  } else {
    outcome.whyNone = whyNone(pass, run);
  }
  run.findings.report(source.name(), diagnostics);
  if (outcome.events > 0) run.moveTo(timeline, rank);
  return outcome;
}

}  // namespace pipetrace
