#include "parser/job_log/job_log_reader.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parser/job_log/find_mark.h"
#include "parser/job_log/lines/rank_part.h"
#include "parser/line_blocks.h"
#include "parser/ring/log_rings.h"
#include "parser/ring/ring_file_reader.h"
#include "trace/append.h"
#include "trace/error.h"
#include "trace/log/log_format.h"
#include "trace/strings/string_table.h"
#include "trace/text/number_text.h"
#include "trace/text/utf8.h"
#include "trace/threads/turns.h"

namespace pipetrace {

namespace {

/// Joins the blocks of one log to the parts of its ranks, and keeps the wanted run of each rank.
class RankParts {
 public:
  /// `wanted`: the number of the run of each rank; -1: the last. `isOfOneRank`: the file's name
  /// gives its rank. `strings` gets all strings and must outlive it.
  RankParts(int wanted, bool isOfOneRank, StringTable& strings);

  /// Adds the next block of the log, whose events and arguments may be changed. `own` holds the
  /// strings of the block; `remap` belongs to `own` and is kept from one call to the next. `upTo`
  /// is the part of the log read so far, this block included (0: not known); it shows how many
  /// events there will be.
  void add(ParsedLogBlock& parsed, const StringTable& own, StringRemap& remap, double upTo);

  /// Returns the wanted run of each rank; at least one. Throws Error, which calls the log `name`,
  /// when a rank has fewer runs. Call it once.
  std::vector<RankPart> take(const std::string& name);

  /// The ring files of the runs that take() would return now and that were not closed.
  std::vector<std::string> openRings() const;

  std::int64_t lineCount() const { return lines_; }
  std::int64_t jobLineCount() const { return jobLines_; }

 private:
  /// The runs of one rank; only the wanted one is kept.
  struct RankRuns {
    std::optional<int> rank;  ///< as its Meta lines say
    RankPart part;            ///< the wanted one, or an earlier one until it comes
    int index = 0;            ///< of the latest part
    bool begun = false;       ///< a Meta line or a job has come
  };

  void addAbout(const LogSection::About& about);
  void beginRun(const std::string& payload, std::int64_t number);
  bool switchTo(std::optional<int> rank);
  void addEvents(RankPart& added, const StringRemap& strings, double upTo);
  bool isWanted() const { return wanted_ < 0 || ranks_[current_].index == wanted_; }
  RankPart& part() { return ranks_[current_].part; }
  std::string tooFewRuns(const RankRuns& rank, const std::string& name) const;

  int wanted_;
  bool isOfOneRank_;
  StringTable& strings_;
  std::vector<RankRuns> ranks_;
  std::size_t current_ = 0;  // index in ranks_
  std::int64_t lines_ = 0;
  std::int64_t jobLines_ = 0;
};

/// Makes room for `more` elements. If a part `upTo` of the input gave all elements so far, it makes
/// room for as many as the whole will give. A vector that doubles needs three times its memory for
/// a moment.
template <typename Element>
void makeRoom(std::vector<Element>& list, std::size_t more, double upTo) {
  const std::size_t needed = list.size() + more;
  if (needed <= list.capacity()) return;
  constexpr double kSlack = 1.0 / 16;
  if (upTo <= 0 || upTo > 1) return;  // it doubles
  const auto foreseen = static_cast<double>(needed) / upTo * (1 + kSlack);
  try {
    list.reserve(std::max(needed, static_cast<std::size_t>(foreseen)));
  } catch (const std::bad_alloc&) {
    list.reserve(needed);
  }
}

RankParts::RankParts(int wanted, bool isOfOneRank, StringTable& strings)
    : wanted_(wanted), isOfOneRank_(isOfOneRank), strings_(strings) {
  ranks_.emplace_back();
}

void RankParts::add(ParsedLogBlock& parsed, const StringTable& own, StringRemap& remap,
                    double upTo) {
  remap.grow(own, strings_);
  for (std::size_t i = 0; i < parsed.used; ++i) {
    LogSection& section = parsed.sections[i];
    for (const LogSection::About& about : section.about) {
      if (about.kind == LogLineKind::kMeta) addAbout(about);
    }
    part().findings.addAll(section.ofLines, lines_);
    jobLines_ += section.jobLines;
    if (section.jobLines > 0) ranks_[current_].begun = true;
    if (!isWanted()) continue;
    for (const LogSection::About& about : section.about) {
      if (about.kind != LogLineKind::kMeta) addAbout(about);
    }
    part().findings.addAll(section.events.findings, lines_);
    addEvents(section.events, remap, upTo);
  }
  lines_ += parsed.lines;
}

void RankParts::addAbout(const LogSection::About& about) {
  const std::int64_t number = lines_ + about.line;
  switch (about.kind) {
    case LogLineKind::kMeta: beginRun(about.payload, number); break;
    case LogLineKind::kClock: readClockLine(part(), about.payload, number); break;
    case LogLineKind::kEnd: readEndLine(part(), about.payload, number); break;
    case LogLineKind::kFirstStep: readFirstStepLine(part(), about.payload, number); break;
    default: break;
  }
}

/// A Meta line opens a run of its rank. The first one of a log, with no job before it, belongs to
/// the run that is open anyway.
void RankParts::beginRun(const std::string& payload, std::int64_t number) {
  RankPart meta;
  readMetaLine(meta, payload, number);
  const bool isOther = switchTo(meta.metaRank);
  RankRuns& rank = ranks_[current_];
  if (rank.begun) {
    ++rank.index;
    if (isWanted()) rank.part = {};
  }
  rank.begun = true;
  if (isOther) rank.part.findings.add(LogFinding::kSeveralRanks, number);
  if (isWanted()) readMetaLine(rank.part, payload, number);
}

/// Makes that rank the current one. Returns true when it is another but may not be: a file that is
/// named after one rank holds that rank only. In an older run it may have had another number.
bool RankParts::switchTo(std::optional<int> rank) {
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

void RankParts::addEvents(RankPart& added, const StringRemap& strings, double upTo) {
  RankPart& target = part();
  makeRoom(target.arguments, added.arguments.size(), upTo);
  const EventRemap remap = appendArguments(added.arguments, strings, target.arguments);
  for (auto& [name, events] : added.lanes) {
    if (events.empty()) continue;
    std::vector<Event>& lane = target.laneOf(name);
    makeRoom(lane, events.size(), upTo);
    remap(events);
    lane.insert(lane.end(), events.begin(), events.end());
  }
  for (const auto& [name, series] : added.counters) {
    CounterSeries& all = target.counters[name];
    if (all.name.empty()) {
      all.name = name;
      all.unit = series.unit;
    }
    all.samples.insert(all.samples.end(), series.samples.begin(), series.samples.end());
  }
}

std::vector<std::string> RankParts::openRings() const {
  std::vector<std::string> names;
  for (const RankRuns& rank : ranks_) {
    if (!rank.part.ringFile.empty() && !rank.part.info.hasEnd) names.push_back(rank.part.ringFile);
  }
  return names;
}

std::vector<RankPart> RankParts::take(const std::string& name) {
  std::vector<RankPart> parts;
  for (RankRuns& rank : ranks_) {
    if (wanted_ > rank.index) throw Error(tooFewRuns(rank, name));
    rank.part.info.runs = rank.index + 1;
    rank.part.isLatest = wanted_ < 0 || wanted_ == rank.index;
    parts.push_back(std::move(rank.part));
  }
  return parts;
}

std::string RankParts::tooFewRuns(const RankRuns& rank, const std::string& name) const {
  std::string text =
      name + " holds " + std::to_string(rank.index + 1) + (rank.index == 0 ? " run" : " runs");
  if (ranks_.size() > 1) text += " of rank " + std::to_string(*rank.rank);
  return text + ", so --run " + std::to_string(wanted_) + " is not there; they are counted from 0";
}

/// Reading a smaller file takes less time than starting threads.
constexpr std::size_t kLogWorthThreads = std::size_t{4} << 20;

int threadsFor(ByteSource& source, const ReadRequest& request) {
  const auto size = source.plainSize();
  return size && *size < kLogWorthThreads ? 1 : threadCount(request.threads);
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
    // A compressed log may have grown, too.
    while (!rings.empty()) {
      LineBlocks more(source);
      readInto(all, more, 1, reading_);
      if (!rings.settle()) break;
    }
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

void LogSection::clear() {
  about.clear();
  events.clearEvents();
  ofLines = {};
  jobLines = 0;
}

void LogBlockParser::beginSection() {
  if (parsed_.used == parsed_.sections.size()) parsed_.sections.emplace_back();
  parsed_.sections[parsed_.used++].clear();
  canonical_.setPart(section().events);
}

ParsedLogBlock& LogBlockParser::parse(const LineBlocks::Block& block) {
  parsed_.used = 0;
  beginSection();
  std::int64_t lineEnds = 0;
  std::string_view rest = block.text;
  while (true) {
    const FoundMark mark = findMark(rest);
    lineEnds += mark.lineEnds;
    rest.remove_prefix(static_cast<std::size_t>(mark.at - rest.data()));
    if (rest.empty()) break;
    std::size_t length = reading_ == LogReading::kFast ? canonical_.read(rest) : 0;
    if (length > 0) {
      section().jobLines += rest.starts_with(log_format::kInfo) ? 1 : 0;
    } else {
      const std::size_t end = rest.find('\n');
      const bool terminated = end != std::string_view::npos;
      addLine(rest.substr(0, end), lineEnds + 1, terminated);
      length = terminated ? end + 1 : rest.size();
      if (!terminated) --lineEnds;
    }
    ++lineEnds;
    rest.remove_prefix(length);
  }
  parsed_.lines = lineEnds;
  if (!block.text.empty() && block.text.back() != '\n') ++parsed_.lines;
  if (block.tooLong) section().ofLines.add(LogFinding::kLineTooLong, ++parsed_.lines);
  return parsed_;
}

/// `text`: a line from its first mark on, without its end.
void LogBlockParser::addLine(std::string_view text, std::int64_t number, bool terminated) {
  LogLine ours = classifyLogLine(text);
  if (ours.kind == LogLineKind::kOrdinary) return;
  if (ours.kind == LogLineKind::kInfo) ++section().jobLines;
  // Even a line that looks whole may lack the last digits of a number.
  if (!terminated) {
    section().ofLines.add(LogFinding::kLastLineCutOff, number);
    return;
  }
  if (ours.text.find('\0') != std::string_view::npos) {
    section().ofLines.add(LogFinding::kNulBytes, number);
    return;
  }
  if (ours.text.ends_with('\r')) ours.text.remove_suffix(1);
  if (!isUtf8(ours.text)) {
    section().ofLines.add(LogFinding::kInvalidUtf8, number);
    repaired_ = toUtf8(ours.text);
    ours.text = repaired_;
  }
  addOurs(classifyLogLine(ours.text), number);
}

void LogBlockParser::addOurs(const LogLine& line, std::int64_t number) {
  if (line.kind == LogLineKind::kMeta) beginSection();
  RankPart& events = section().events;
  switch (line.kind) {
    case LogLineKind::kInfo: events_.addJob(events, line.text, number); break;
    case LogLineKind::kStream: events_.addStream(events, line.payload, number); break;
    case LogLineKind::kKernel: events_.addKernel(events, line.payload, number); break;
    case LogLineKind::kCounter: events_.addCounter(events, line.payload, number); break;
    case LogLineKind::kMeta:
    case LogLineKind::kClock:
    case LogLineKind::kEnd:
    case LogLineKind::kFirstStep:
      section().about.push_back({line.kind, std::string(line.payload), number});
      break;
    case LogLineKind::kOrdinary: break;
  }
}

}  // namespace pipetrace
