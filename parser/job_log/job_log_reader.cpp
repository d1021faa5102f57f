#include "parser/job_log/job_log_reader.h"

#include <algorithm>
#include <string>
#include <vector>

#include "parser/job_log/rank_parts.h"
#include "parser/line_blocks.h"
#include "parser/ring/log_rings.h"
#include "parser/ring/ring_file_reader.h"
#include "trace/text/count_text.h"
#include "trace/threads/turns.h"

namespace pipetrace {
namespace {

/// Reading a smaller file takes less time than starting threads.
constexpr std::size_t kWorthThreads = std::size_t{4} << 20;

int threadsFor(ByteSource& source, const ReadRequest& request) {
  const auto size = source.plainSize();
  return size && *size < kWorthThreads ? 1 : threadCount(request.threads);
}

void readInto(RankParts& parts, LineBlocks& blocks, int threads, LogReading reading) {
  Turns::run(threads, [&](Turns& turns) {
    LogBlockParser parser(reading);
    StringRemap remap;
    for (LineBlocks::Block block; blocks.next(block);) {
      ParsedLogBlock& parsed = parser.parse(block);
      if (!turns.await(block.number)) return;
      parts.add(parsed, parser.strings(), remap, block.upTo);
      turns.finish();
    }
  });
}

/// The position after the last line end, at `from` or later; `size` if the line after it is too
/// long for a log.
std::size_t afterLastLine(const ByteSource& source, std::size_t from, std::size_t size) {
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

/// Reads a log in a plain file, and the ring files of runs that were not closed. Both are of one
/// moment, even while their program goes on recording.
void readWithRings(RankParts& parts, ByteSource& source, LogRings& rings, int threads,
                   LogReading reading) {
  std::size_t from = 0;
  std::size_t size = 0;
  const auto readOn = [&](int wanted) {
    size = source.plainSize().value_or(from);
    const std::size_t to = afterLastLine(source, from, std::max(size, from));
    if (to > from) {
      LineBlocks blocks(source, from, to);
      readInto(parts, blocks, wanted, reading);
    }
    from = to;
  };
  readOn(threads);
  for (const std::string& name : parts.openRings()) rings.take(name);
  if (!rings.empty()) {
    do {
      readOn(1);
    } while (rings.settle());
  }
  if (size <= from) return;
  LineBlocks cutOff(source, from, size);
  readInto(parts, cutOff, 1, reading);
}

bool wasClosedWithoutJob(const RankParts& parts, const RankPart& part) {
  return parts.jobLineCount() == 0 && part.hasMeta && part.info.hasEnd;
}

std::string whyNone(const RankParts& parts, const RankPart& part) {
  if (parts.lineCount() == 0) return "it is empty";
  const auto lines = [](std::int64_t n) { return countText(n, "line"); };
  if (wasClosedWithoutJob(parts, part)) return "its program closed it without one";
  if (parts.jobLineCount() == 0) {
    return "it holds " + lines(parts.lineCount()) + ", none with \"Profiler Info:\"";
  }
  if (part.findings.count(LogFinding::kLastLineCutOff) == parts.jobLineCount()) {
    return "its only line with \"Profiler Info:\" is cut off";
  }
  return "it holds " + lines(parts.jobLineCount()) +
         " with \"Profiler Info:\", but none that could be read";
}

/// `rank`: kNotGiven, or the rank if the file holds several.
void reportOtherRuns(const RankPart& part, int rank, const std::string& file,
                     Diagnostics& diagnostics) {
  std::string message = "it holds " + std::to_string(part.info.runs) + " runs";
  if (rank != kNotGiven) message += " of rank " + std::to_string(rank);
  diagnostics.add({.severity = Severity::kNote,
                   .file = file,
                   .message = message + ", of which the last is read",
                   .advice = "--run 0 reads the first"});
}

/// The rank of a log: what its Meta line says, else its name, else the next free one.
int rankOf(const RankPart& part, const ReadRequest& request) {
  return part.metaRank.value_or(request.rank.value_or(request.nextRank));
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
  RankParts all(request.run, request.rank.has_value(), timeline.strings);
  LogRings rings(source.name());
  const int threads = threadsFor(source, request);
  if (source.plainSize()) {
    readWithRings(all, source, rings, threads, reading_);
  } else {
    LineBlocks blocks(source);
    readInto(all, blocks, threads, reading_);
    for (const std::string& name : all.openRings()) rings.take(name);
  }
  std::vector<RankPart> parts = all.take(source.name());
  for (RankPart& part : parts) {
    addLeftOverRing(part, rankOf(part, request), source.name(), rings, timeline.strings,
                    diagnostics);
    part.info.isRecording = part.missingEnd.recorder == RecorderState::kRecords;
    const std::int64_t missing = part.info.written - part.countedLines(timeline.strings);
    if (missing > 0 && !request.isPart) {
      part.findings.add(LogFinding::kLinesMissing, 0, missing);
    }
  }
  ReadOutcome outcome;
  for (const RankPart& part : parts) outcome.events += part.eventCount();
  if (outcome.events == 0) {
    outcome.whyNone = whyNone(all, parts.back());
    if (wasClosedWithoutJob(all, parts.back())) {
      outcome.adviceOnNone =
          "PIPETRACE_STEPS may have left out all steps: a range such as 5:3, or one that the "
          "program did not reach, records none";
    }
  }
  for (RankPart& part : parts) {
    const int rank = rankOf(part, request);
    const bool hasEvents = part.eventCount() > 0;
    if (hasEvents && request.rank.value_or(rank) != rank) {
      part.findings.add(LogFinding::kOtherRank, 0);
    }
    if (hasEvents && timeline.ranks.contains(rank)) part.findings.add(LogFinding::kRankTaken, 0);
    part.findings.report(source.name(), diagnostics);
    if (part.lacksEnd() && !request.isPart) {
      diagnostics.add(part.missingEnd.toDiagnostic(source.name()));
    }
    if (hasEvents && request.run < 0 && part.info.runs > 1 && !request.isPart) {
      reportOtherRuns(part, parts.size() > 1 ? rank : kNotGiven, source.name(), diagnostics);
    }
    if (hasEvents) {
      part.moveTo(timeline, rank);
    } else if (outcome.events > 0) {
      diagnostics.add({.file = source.name(),
                       .message = "no job of rank " + std::to_string(rank) + " in it",
                       .advice = "that rank is missing from the profile"});
    }
  }
  return outcome;
}

}  // namespace pipetrace
