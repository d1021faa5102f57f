#include "parser/job_log/job_log_reader.h"

#include <algorithm>
#include <string>
#include <vector>

#include "parser/job_log/log_runs.h"
#include "parser/line_blocks.h"
#include "parser/ring/log_rings.h"
#include "parser/ring/ring_file_reader.h"
#include "trace/threads/turns.h"

namespace pipetrace {
namespace {

/// Below this a file is read sooner than threads are started.
constexpr std::size_t kWorthThreads = std::size_t{4} << 20;

int threadsFor(ByteSource& source, const ReadRequest& request) {
  const auto size = source.plainSize();
  return size && *size < kWorthThreads ? 1 : threadCount(request.threads);
}

void readInto(LogRuns& runs, LineBlocks& blocks, int threads, LogReading reading) {
  Turns::run(threads, [&](Turns& turns) {
    LogBlockParser parser(reading);
    StringRemap remap;
    for (LineBlocks::Block block; blocks.next(block);) {
      LogShare& share = parser.parse(block);
      if (!turns.await(block.number)) return;
      runs.add(share, parser.strings(), remap, block.upTo);
      turns.finish();
    }
  });
}

/// Where the last line that has an end has it, at `from` or behind; `size` if the line after it is
/// too long to be one of a log.
std::size_t behindLastLine(const ByteSource& source, std::size_t from, std::size_t size) {
  constexpr std::size_t kPart = 4096;
  std::string part;
  for (std::size_t to = size; to > from;) {
    const std::size_t at = std::max(from, to - std::min(to, kPart));
    part.resize(to - at);
    part.resize(source.readAt(at, part.data(), part.size()));
    if (const std::size_t end = part.rfind('\n'); end != std::string::npos) return at + end + 1;
    if (size - at > LineBlocks::kLongestLine) return size;
    to = at;
  }
  return from;
}

/// A log in a plain file, and the ring files of runs that were not closed: both of one moment, also
/// while their program goes on recording.
void readWithRings(LogRuns& runs, ByteSource& source, LogRings& rings, int threads,
                   LogReading reading) {
  std::size_t from = 0;
  std::size_t size = 0;
  const auto readOn = [&](int wanted) {
    size = source.plainSize().value_or(from);
    const std::size_t to = behindLastLine(source, from, std::max(size, from));
    if (to > from) {
      LineBlocks blocks(source, from, to);
      readInto(runs, blocks, wanted, reading);
    }
    from = to;
  };
  readOn(threads);
  for (const std::string& name : runs.openRings()) rings.take(name);
  if (!rings.empty()) {
    do {
      readOn(1);
    } while (rings.settle());
  }
  if (size <= from) return;
  LineBlocks cutOff(source, from, size);
  readInto(runs, cutOff, 1, reading);
}

bool wasClosedWithoutJob(const LogRuns& runs, const LogRun& run) {
  return runs.jobLineCount() == 0 && run.hasMeta && run.info.hasEnd;
}

std::string whyNone(const LogRuns& runs, const LogRun& run) {
  if (runs.lineCount() == 0) return "it is empty";
  const auto lines = [](std::int64_t n) {
    return std::to_string(n) + (n == 1 ? " line" : " lines");
  };
  if (wasClosedWithoutJob(runs, run)) return "its program closed it without one";
  if (runs.jobLineCount() == 0) {
    return "it holds " + lines(runs.lineCount()) + ", none with \"Profiler Info:\"";
  }
  if (run.findings.count(LogFinding::kLastLineCutOff) == runs.jobLineCount()) {
    return "its only line with \"Profiler Info:\" is cut off";
  }
  return "it holds " + lines(runs.jobLineCount()) +
         " with \"Profiler Info:\", but none that could be read";
}

/// `rank`: kNotGiven, or which of the several in the file.
void sayOtherRuns(const LogRun& run, int rank, const std::string& file, Diagnostics& diagnostics) {
  std::string message = "it holds " + std::to_string(run.info.runs) + " runs";
  if (rank != kNotGiven) message += " of rank " + std::to_string(rank);
  diagnostics.add({.severity = Severity::kNote,
                   .file = file,
                   .message = message + ", of which the last is read",
                   .advice = "--run 0 reads the first"});
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
  LogRuns all(request.run, request.rank.has_value(), timeline.strings);
  LogRings rings(source.name());
  const int threads = threadsFor(source, request);
  if (source.plainSize()) {
    readWithRings(all, source, rings, threads, reading_);
  } else {
    LineBlocks blocks(source);
    readInto(all, blocks, threads, reading_);
    for (const std::string& name : all.openRings()) rings.take(name);
  }
  std::vector<LogRun> runs = all.take(source.name());
  for (LogRun& run : runs) {
    addLeftOverRing(run, rankOf(run, request), source.name(), rings, timeline.strings, diagnostics);
    run.info.isRecording = run.missingEnd.recorder == RecorderState::kRecords;
    const std::int64_t missing = run.info.written - run.countedLines(timeline.strings);
    if (missing > 0 && !request.isPart) {
      run.findings.add(LogFinding::kLinesMissing, 0, missing);
    }
  }
  ReadOutcome outcome;
  for (const LogRun& run : runs) outcome.events += run.eventCount();
  if (outcome.events == 0) {
    outcome.whyNone = whyNone(all, runs.back());
    if (wasClosedWithoutJob(all, runs.back())) {
      outcome.adviceOnNone =
          "PIPETRACE_STEPS may have left out all steps: a range such as 5:3, or one that the "
          "program did not reach, records none";
    }
  }
  for (LogRun& run : runs) {
    const int rank = rankOf(run, request);
    const bool hasEvents = run.eventCount() > 0;
    if (hasEvents && request.rank.value_or(rank) != rank) {
      run.findings.add(LogFinding::kOtherRank, 0);
    }
    if (hasEvents && timeline.ranks.contains(rank)) run.findings.add(LogFinding::kRankTaken, 0);
    run.findings.report(source.name(), diagnostics);
    if (run.lacksEnd() && !request.isPart) {
      diagnostics.add(run.missingEnd.toDiagnostic(source.name()));
    }
    if (hasEvents && request.run < 0 && run.info.runs > 1 && !request.isPart) {
      sayOtherRuns(run, runs.size() > 1 ? rank : kNotGiven, source.name(), diagnostics);
    }
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
