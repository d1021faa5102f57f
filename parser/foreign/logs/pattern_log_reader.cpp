#include "parser/foreign/logs/pattern_log_reader.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "parser/foreign/names/known_names.h"
#include "parser/line_blocks.h"
#include "parser/log_argument.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"
#include "trace/text/log_numbers.h"
#include "trace/text/utf8.h"

namespace pipetrace {

namespace {

/// The fields of an event that a line gives.
struct LineJob {
  Event event;
  std::string_view type;
  std::string_view name;
  std::string_view stream;
  std::optional<Nanoseconds> start;
  std::optional<Nanoseconds> end;
  std::optional<Nanoseconds> duration;
  std::optional<int> rank;
};

template <typename Number>
bool setNumber(std::string_view text, Number& field) {
  const auto number = parseNumber<Number>(text);
  if (!number || *number < 0) return false;
  field = *number;
  return true;
}

class LogReader {
 public:
  LogReader(const LinePattern& pattern, const std::string& file, const ReadRequest& request,
            Diagnostics& diagnostics, Timeline& timeline)
      : pattern_(pattern),
        file_(file),
        rank_(request.rankOfFile()),
        isRankGuessed_(request.isRankGuessed()),
        diagnostics_(diagnostics),
        timeline_(timeline),
        names_(request.kinds) {}

  void addBlock(const LineBlocks::Block& block) {
    std::string_view rest = block.text;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const bool isWhole = end != std::string_view::npos;
      ++lines_;
      addLine(rest.substr(0, end), isWhole);
      rest.remove_prefix(isWhole ? end + 1 : rest.size());
    }
    if (!block.tooLong) return;
    ++lines_;
    complain("a line is longer than 1 MiB and was left out");
  }

  ReadOutcome finish() {
    ReadOutcome outcome;
    outcome.process.isRankGuessed = isRankGuessed_ && usesRankOfFile_;
    for (auto& [place, events] : lanes_) {
      outcome.events += static_cast<std::int64_t>(events.size());
      std::vector<Event>& lane = timeline_.track(place.first, place.second).events;
      lane.insert(lane.end(), events.begin(), events.end());
    }
    if (matches_ == 0) {
      outcome.whyNone = "none of its " + std::to_string(lines_) + " lines matches --pattern";
    } else if (outcome.events == 0) {
      outcome.whyNone = std::to_string(matches_) + " of its " + std::to_string(lines_) +
                        " lines match --pattern, but none has numbers that can be used";
    } else {
      note(std::to_string(matches_) + " of its " + std::to_string(lines_) +
           " lines match --pattern");
      hintAtUnit();
    }
    return outcome;
  }

 private:
  void complain(const char* message, const char* advice = "") {
    diagnostics_.add({.file = file_, .line = lines_, .message = message, .advice = advice});
  }

  void note(std::string message, std::string advice = "") {
    diagnostics_.add({.severity = Severity::kNote,
                      .file = file_,
                      .message = std::move(message),
                      .advice = std::move(advice)});
  }

  /// Times since the epoch that were read in too small a unit are in January 1970. So are times
  /// that count from the start of a program, but no unit brings those near today.
  void hintAtUnit() {
    constexpr Nanoseconds kDay = 86'400 * kNsPerSecond;
    constexpr Nanoseconds kEarliest = 11'000 * kDay;  // 2000
    constexpr Nanoseconds kLatest = 47'500 * kDay;    // 2100
    if (latest_ > 31 * kDay) return;
    for (const auto& [name, unit] :
         {std::pair("us", kNsPerUs), std::pair("ms", kNsPerMs), std::pair("s", kNsPerSecond)}) {
      if (unit <= pattern_.unit()) continue;
      const Nanoseconds factor = unit / pattern_.unit();
      if (latest_ < kEarliest / factor || latest_ > kLatest / factor) continue;
      return note("its times lie in January 1970",
                  std::string("if they are times of today, say --time-unit ") + name);
    }
  }

  void addLine(std::string_view line, bool isWhole) {
    std::string repaired;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!isUtf8(line)) {
      repaired = toUtf8(line);
      line = repaired;
    }
    if (!pattern_.match(line, texts_)) return;
    // Its last number may lack digits.
    if (!isWhole) return complain("the last line does not end and was left out");
    ++matches_;
    if (!repaired.empty()) complain("bytes that are no UTF-8 were replaced");
    LineJob job;
    list_.clear();
    for (const LinePattern::Group& group : pattern_.groups()) {
      const re2::StringPiece& text = texts_[static_cast<std::size_t>(group.index)];
      if (!text.empty() && !take(group, {text.data(), text.size()}, job)) {
        return complain("a line matches, but its numbers cannot be used; it was left out",
                        "times are as --time-unit says, 12.5 with digits and one dot; other "
                        "numbers are whole and not below 0");
      }
    }
    add(job);
  }

  /// False for a text that is no number where one is needed.
  bool take(const LinePattern::Group& group, std::string_view text, LineJob& job) {
    Event& event = job.event;
    switch (group.field) {
      case LineField::kType: job.type = text; return true;
      case LineField::kName: job.name = text; return true;
      case LineField::kStream: job.stream = text; return true;
      case LineField::kStart: return takeTime(text, job.start);
      case LineField::kEnd: return takeTime(text, job.end);
      case LineField::kDuration: return takeTime(text, job.duration);
      case LineField::kMicroBatch: return setNumber(text, event.microBatch);
      case LineField::kStep: return setNumber(text, event.step);
      case LineField::kStage: return setNumber(text, event.stage);
      case LineField::kChunk: return setNumber(text, event.chunk);
      case LineField::kPart: return setNumber(text, event.part);
      case LineField::kId: return setNumber(text, event.job);
      case LineField::kPeer: return setNumber(text, event.peer);
      case LineField::kRank:
        return setNumber(text, job.rank.emplace()) && *job.rank <= kHighestRank;
      case LineField::kArgument:
        list_.push_back(argumentFromLog(group.name, text, false, timeline_.strings));
        return true;
    }
    return false;
  }

  bool takeTime(std::string_view text, std::optional<Nanoseconds>& time) const {
    time = parseDecimalTime(text, pattern_.unit());
    return time.has_value();
  }

  void add(LineJob& job) {
    Event& event = job.event;
    if (!job.start || (!job.end && !job.duration)) {
      return complain("a line matches, but has no start or no end; it was left out");
    }
    event.begin = *job.start;
    if (job.end) {
      event.end = *job.end;
    } else if (__builtin_add_overflow(*job.start, *job.duration, &event.end)) {
      return complain("a job ends past what a time can hold and was left out");
    }
    if (event.end < event.begin) return complain("a job ends before it starts and was left out");
    latest_ = std::max(latest_, event.end);
    const std::string_view type = job.type.empty() ? job.name : job.type;
    const JobName& known = names_[type];
    event.kind = known.kind;
    if (event.microBatch == kNotGiven) event.microBatch = known.microBatch;
    if (event.step == kNotGiven) event.step = known.step;
    if (event.stage == kNotGiven) event.stage = known.stage;
    if (event.chunk == kNotGiven) event.chunk = known.chunk;
    if (event.part == kNotGiven) event.part = known.part;
    if (event.kind == JobKind::kOther) event.name = timeline_.strings.intern(type);
    if (!job.name.empty() && job.name != logName(event.kind)) {
      event.name = timeline_.strings.intern(job.name);
    }
    if (!list_.empty()) timeline_.setArguments(event, list_);
    if (!job.rank) usesRankOfFile_ = true;
    lanes_[{job.rank.value_or(rank_), laneOf(job)}].push_back(event);
  }

  static std::string laneOf(const LineJob& job) {
    if (!job.stream.empty()) return std::string(job.stream);
    const JobKind kind = job.event.kind;
    if (isSend(kind)) return std::string(kSendLane);
    if (isRecv(kind)) return std::string(kRecvLane);
    const bool isOnCompute = isComputeLane(kind) || kind == JobKind::kOther;
    return std::string(isOnCompute ? kComputeLane : logName(kind));
  }

  const LinePattern& pattern_;
  const std::string& file_;
  int rank_;
  bool isRankGuessed_;
  bool usesRankOfFile_ = false;
  Diagnostics& diagnostics_;
  Timeline& timeline_;
  JobNames names_;
  std::vector<re2::StringPiece> texts_;
  std::vector<Argument> list_;
  std::map<std::pair<int, std::string>, std::vector<Event>> lanes_;
  std::int64_t lines_ = 0;
  std::int64_t matches_ = 0;
  Nanoseconds latest_ = std::numeric_limits<Nanoseconds>::min();
};

}  // namespace

ReadOutcome PatternLogReader::read(ByteSource& source, const ReadRequest& request,
                                   Timeline& timeline, Diagnostics& diagnostics) const {
  LogReader reader(pattern_, source.name(), request, diagnostics, timeline);
  LineBlocks blocks(source);
  for (LineBlocks::Block block; blocks.next(block);) reader.addBlock(block);
  if (request.run >= 0) {
    diagnostics.add({.severity = Severity::kNote,
                     .file = source.name(),
                     .message = "a log that is read by --pattern is one run, which was read "
                                "whatever --run says"});
  }
  return reader.finish();
}

namespace {

constexpr std::pair<std::string_view, LineField> kGroups[] = {
    {"type", LineField::kType},
    {"name", LineField::kName},
    {"start", LineField::kStart},
    {"end", LineField::kEnd},
    {"dur", LineField::kDuration},
    {"duration", LineField::kDuration},
    {"micro_batch_id", LineField::kMicroBatch},
    {"micro_batch", LineField::kMicroBatch},
    {"step", LineField::kStep},
    {"stage", LineField::kStage},
    {"chunk", LineField::kChunk},
    {"part", LineField::kPart},
    {"id", LineField::kId},
    {"rank", LineField::kRank},
    {"peer", LineField::kPeer},
    {"stream", LineField::kStream},
};

constexpr const char* kAdvice =
    "; as in --pattern 'job (?P<type>\\w+) mb=(?P<micro_batch_id>\\d+) (?P<start>[\\d.]+) "
    "(?P<end>[\\d.]+)'";

LineField fieldOf(std::string_view group) {
  const auto* const found = std::find_if(std::begin(kGroups), std::end(kGroups),
                                         [&](const auto& known) { return known.first == group; });
  return found == std::end(kGroups) ? LineField::kArgument : found->second;
}

re2::RE2::Options quietly() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  return options;
}

}  // namespace

LinePattern::LinePattern(const std::string& pattern, Nanoseconds unit)
    : pattern_(pattern, quietly()), unit_(unit) {
  if (!pattern_.ok()) {
    throw Error("--pattern is no regular expression: " + pattern_.error() + " (in \"" + pattern +
                "\"); the syntax is RE2's");
  }
  for (const auto& [name, index] : pattern_.NamedCapturingGroups()) {
    const LineField field = fieldOf(name);
    if (field != LineField::kArgument && has(field)) {
      throw Error("--pattern has two groups that mean the same: one of them is " + name);
    }
    groups_.push_back({field, name, index});
  }
  if (!has(LineField::kType) && !has(LineField::kName)) {
    throw Error(std::string("--pattern has no group called type") + kAdvice);
  }
  if (!has(LineField::kStart)) {
    throw Error(std::string("--pattern has no group called start") + kAdvice);
  }
  if (!has(LineField::kEnd) && !has(LineField::kDuration)) {
    throw Error(std::string("--pattern has no group called end or duration") + kAdvice);
  }
}

bool LinePattern::has(LineField field) const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [&](const Group& group) { return group.field == field; });
}

bool LinePattern::match(std::string_view line, std::vector<re2::StringPiece>& texts) const {
  texts.resize(static_cast<std::size_t>(pattern_.NumberOfCapturingGroups()) + 1);
  return pattern_.Match(re2::StringPiece(line.data(), line.size()), 0, line.size(),
                        re2::RE2::UNANCHORED, texts.data(), static_cast<int>(texts.size()));
}

}  // namespace pipetrace
