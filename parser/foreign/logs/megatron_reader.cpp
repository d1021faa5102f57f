#include "parser/foreign/logs/megatron_reader.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "parser/foreign/names/foreign_names.h"
#include "parser/foreign/pipeline_positions.h"
#include "parser/json/json_objects.h"
#include "parser/runs/rank_names.h"
#include "trace/text/log_numbers.h"
#include "trace/text/ranks_text.h"
#include "trace/text/utf8.h"

namespace pipetrace {
namespace {

/// The words of MegatronApp's files that reading and aligning share.
namespace mf {

constexpr std::string_view kLane = "iterations";  ///< our name
constexpr std::string_view kIteration = "iteration";
constexpr std::string_view kRelativeTime = "rel_ts";
constexpr std::string_view kPad = "pad_before";
constexpr std::string_view kWallTime = "duration_wall";

}  // namespace mf

using Json = nlohmann::ordered_json;

std::optional<std::int64_t> integerIn(const Json& object, std::string_view key) {
  const auto found = object.find(std::string(key));
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return parseNumber<std::int64_t>(found->dump());
}

std::string textIn(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string_view laneOf(JobKind kind) {
  if (isSend(kind)) return kSendLane;
  if (isRecv(kind)) return kRecvLane;
  return isComputeLane(kind) ? kComputeLane : "other";
}

class RankReader {
 public:
  RankReader(const std::string& file, const ReadRequest& request, Timeline& timeline,
             Diagnostics& diagnostics)
      : file_(file),
        rank_(request.rankOfFile()),
        place_(megatronAppPlace(file)),
        timeline_(timeline),
        diagnostics_(diagnostics),
        names_(request.kinds, timeline) {}

  void add(std::string_view object, std::int64_t line) {
    const std::string text = isUtf8(object) ? std::string() : toUtf8(object);
    const std::string_view json = text.empty() ? object : std::string_view(text);
    const Json entry = Json::parse(json.begin(), json.end(), nullptr, false);
    if (!entry.is_object()) return complain("an entry is no valid JSON and was left out", line);
    const std::string name = textIn(entry, "name");
    const std::string phase = textIn(entry, "ph");
    if (name.empty() || (phase != "B" && phase != "E")) {
      return complain("an entry has no name, or no `ph` that is B or E, and was left out", line);
    }
    if (name == mf::kIteration) {
      phase == "B" ? beginIteration(entry, line) : endIteration(entry, line);
      return;
    }
    Nanoseconds time = 0;
    const auto since = integerIn(entry, mf::kRelativeTime);
    if (!since || __builtin_add_overflow(*since, begin_, &time)) {
      return diagnostics_.add({.file = file_,
                               .line = line,
                               .message = "an entry has no time that can be used and was left out",
                               .doubt = DoubtKind::kNoTime});
    }
    phase == "B" ? begin(entry, name, time, line) : end(entry, name, time, line);
  }

  std::int64_t finish() {
    for (const Open& open : open_) {
      complain("a `B` has no `E` and was left out", open.line,
               "the recording was stopped in the middle of it");
    }
    if (isInIteration_) {
      complain("the last iteration does not end; it is taken to last until its last job does", 0);
      add(iteration_, mf::kLane);
    }
    if (place_ && events_ > 0) {
      RankInfo& info = timeline_.ranks[rank_];
      info.rank = rank_;
      info.dataParallelIndex = place_->dataParallel;
      info.tensorParallelIndex = place_->tensorParallel;
    }
    return events_;
  }

 private:
  struct Open {
    std::string name;
    Nanoseconds time = 0;
    std::int64_t line = 0;
    std::vector<Argument> arguments;
  };

  void complain(const char* message, std::int64_t line, const char* advice = "") {
    diagnostics_.add({.file = file_, .line = line, .message = message, .advice = advice});
  }

  /// Keeps the fields of the entry besides its name, phase and time.
  void keepArguments(const Json& entry, std::vector<Argument>& list) {
    for (const auto& [key, value] : entry.items()) {
      if (key == "name" || key == "ph" || key == mf::kRelativeTime) continue;
      const StringId id = timeline_.strings.intern(key);
      if (const auto integer = integerIn(entry, key)) {
        list.push_back(Argument::ofInteger(id, *integer));
      } else if (value.is_number()) {
        list.push_back(Argument::ofReal(id, value.get<double>()));
      } else {
        const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
        list.push_back(Argument::ofText(id, timeline_.strings.intern(text)));
      }
    }
  }

  void beginIteration(const Json& entry, std::int64_t line) {
    if (isInIteration_) {
      complain("an iteration begins in another one", line);
      endIteration(Json::object(), line);
    }
    const std::int64_t pad = integerIn(entry, mf::kPad).value_or(0);
    if (__builtin_add_overflow(end_, std::max<std::int64_t>(pad, 0), &begin_)) begin_ = end_;
    isInIteration_ = true;
    iteration_ = {};
    iteration_.step = ++step_;
    iteration_.begin = iteration_.end = end_ = begin_;
    iterationArguments_.clear();
    keepArguments(entry, iterationArguments_);
  }

  void endIteration(const Json& entry, std::int64_t line) {
    if (!isInIteration_) {
      return complain("an iteration ends that has not begun, and was left out", line);
    }
    isInIteration_ = false;
    const auto length = integerIn(entry, mf::kRelativeTime);
    Nanoseconds end = 0;
    if (length && *length >= 0 && !__builtin_add_overflow(begin_, *length, &end)) {
      iteration_.end = end;
    }
    const std::int64_t wall = integerIn(entry, mf::kWallTime).value_or(iteration_.duration());
    if (wall < 0 || __builtin_add_overflow(begin_, wall, &end_)) end_ = iteration_.end;
    keepArguments(entry, iterationArguments_);
    timeline_.setArguments(iteration_, iterationArguments_);
    iteration_.name = timeline_.strings.intern(mf::kIteration);
    add(iteration_, mf::kLane);
  }

  void begin(const Json& entry, const std::string& name, Nanoseconds time, std::int64_t line) {
    Open& open = open_.emplace_back();
    open.name = name;
    open.time = time;
    open.line = line;
    keepArguments(entry, open.arguments);
  }

  /// Ends the innermost entry of that name.
  void end(const Json& entry, const std::string& name, Nanoseconds time, std::int64_t line) {
    const auto last = std::find_if(open_.rbegin(), open_.rend(),
                                   [&](const Open& open) { return open.name == name; });
    if (last == open_.rend()) return complain("an `E` has no `B` and was left out", line);
    Open open = std::move(*last);
    open_.erase(std::next(last).base());
    if (time < open.time) return complain("a job ends before it starts and was left out", line);
    Event event;
    event.begin = open.time;
    event.end = time;
    event.step = step_;
    event.name = timeline_.strings.intern(name);
    keepArguments(entry, open.arguments);
    timeline_.setArguments(event, open.arguments);
    names_.describe(event);
    if (place_ && event.stage != kNotGiven && event.stage != place_->pipeline) {
      diagnostics_.add({.file = file_,
                        .line = line,
                        .message = "a job has another `pp_rank` than the file's name",
                        .advice = "give each file the name that the tracer gave it",
                        .doubt = DoubtKind::kRanksContradict});
    }
    if (isInIteration_) iteration_.end = std::max(iteration_.end, event.end);
    add(event, laneOf(event.kind));
  }

  void add(const Event& event, std::string_view lane) {
    timeline_.track(rank_, lane).events.push_back(event);
    ++events_;
  }

  const std::string& file_;
  int rank_;
  std::optional<GridPlace> place_;
  Timeline& timeline_;
  Diagnostics& diagnostics_;
  ForeignNames names_;
  Nanoseconds begin_ = 0;  // of the iteration
  Nanoseconds end_ = 0;    // of the one before it
  std::int32_t step_ = kNotGiven;
  bool isInIteration_ = false;
  Event iteration_;
  std::vector<Argument> iterationArguments_;
  std::vector<Open> open_;
  std::int64_t events_ = 0;
};

/// The time that an iteration took on the slowest rank.
struct Iteration {
  Nanoseconds pad = 0;
  Nanoseconds wallTime = 0;
};

class RankAligner {
 public:
  RankAligner(Timeline& timeline, Diagnostics& diagnostics)
      : timeline_(timeline), diagnostics_(diagnostics) {}

  void align() {
    for (const Track& track : timeline_.tracks) {
      if (isOfIterations(track)) measure(track);
    }
    if (ranks_.empty()) return;
    findBegins();
    LanesOfRanks lanes;
    for (const Track& track : timeline_.tracks) {
      if (isOfIterations(track)) findShifts(track);
    }
    for (Track& track : timeline_.tracks) {
      if (!ranks_.contains(track.rank)) continue;
      shift(track);
      if (track.lane != mf::kLane) lanes.emplace_back(track.rank, &track.events);
    }
    giveVirtualStages(lanes, timeline_);
    givePipelines();
    warnOfLaterRanks();
  }

 private:
  /// A profile that was read back has its stages already.
  bool isOfIterations(const Track& track) const {
    if (track.lane != mf::kLane || track.events.empty()) return false;
    const auto info = timeline_.ranks.find(track.rank);
    return info != timeline_.ranks.end() && !info->second.numStages &&
           numberOf(track.events.front(), mf::kPad).has_value();
  }

  std::optional<Nanoseconds> numberOf(const Event& event, std::string_view key) const {
    for (const Argument& argument : timeline_.argumentsOf(event)) {
      if (argument.type == ArgumentType::kInteger && timeline_.strings[argument.key] == key) {
        return argument.integer;
      }
    }
    return std::nullopt;
  }

  /// Gives the ranks of each pipeline, where names give the indices of all.
  void givePipelines() {
    int replicas = 0;
    int tensorRanks = 0;
    for (const int rank : ranks_) {
      const RankInfo& info = timeline_.ranks.at(rank);
      if (!info.dataParallelIndex || !info.tensorParallelIndex || !info.numStages) return;
      replicas = std::max(replicas, *info.dataParallelIndex + 1);
      tensorRanks = std::max(tensorRanks, *info.tensorParallelIndex + 1);
    }
    for (const int rank : ranks_) {
      RankInfo& info = timeline_.ranks.at(rank);
      const int positions = *info.numStages / info.numChunks.value_or(1);
      const std::int64_t world = std::int64_t{positions} * replicas * tensorRanks;
      const int first = *info.dataParallelIndex * tensorRanks + *info.tensorParallelIndex;
      if (tensorRanks == 1) info.tensorParallelIndex.reset();
      if (world > kMostRanks || (rank - first) % (replicas * tensorRanks) != 0) continue;
      info.worldSize = static_cast<int>(world);
      std::vector<std::vector<int>> ranks;
      for (int position = 0; position < positions; ++position) {
        ranks.push_back({position * replicas * tensorRanks + first});
      }
      info.pipelineRanks = toText(ranks);
    }
  }

  /// What the last rank of a pipeline waits for looks like its own doing if others came after it.
  void warnOfLaterRanks() {
    const RankInfo& last = timeline_.ranks.at(*ranks_.rbegin());
    if (!last.worldSize || std::ssize(ranks_) >= *last.worldSize) return;
    const int positions = *last.numStages / last.numChunks.value_or(1);
    const bool isAtTheEnd = *ranks_.rbegin() >= *last.worldSize - *last.worldSize / positions;
    if (!isAtTheEnd) return;  // it is known that others came after it
    diagnostics_.add({.message = "files of ranks are missing, and those that are there do not say "
                                 "how many there were: if ranks came after rank " +
                                 std::to_string(*ranks_.rbegin()) +
                                 ", what it waited for from them looks like late starts of its own",
                      .advice = "give the files of all ranks"});
  }

  void measure(const Track& track) {
    ranks_.insert(track.rank);
    for (const Event& event : track.events) {
      Iteration& iteration = iterations_[event.step];
      iteration.pad = std::max(iteration.pad, numberOf(event, mf::kPad).value_or(0));
      iteration.wallTime =
          std::max(iteration.wallTime, numberOf(event, mf::kWallTime).value_or(event.duration()));
    }
  }

  void findBegins() {
    Nanoseconds time = 0;
    for (const auto& [step, iteration] : iterations_) {
      if (__builtin_add_overflow(time, iteration.pad, &time)) return;
      begins_[step] = time;
      if (__builtin_add_overflow(time, iteration.wallTime, &time)) return;
    }
  }

  void findShifts(const Track& track) {
    for (const Event& event : track.events) {
      const auto begin = begins_.find(event.step);
      Nanoseconds by = 0;
      if (begin == begins_.end() || __builtin_sub_overflow(begin->second, event.begin, &by))
        continue;
      shifts_[{track.rank, event.step}] = by;
    }
  }

  void shift(Track& track) const {
    for (Event& event : track.events) {
      const auto found = shifts_.find({track.rank, event.step});
      Nanoseconds begin = 0;
      Nanoseconds end = 0;
      if (found == shifts_.end() || __builtin_add_overflow(event.begin, found->second, &begin) ||
          __builtin_add_overflow(event.end, found->second, &end)) {
        continue;
      }
      event.begin = begin;
      event.end = end;
    }
  }

  static constexpr std::int64_t kMostRanks = 1'000'000;

  Timeline& timeline_;
  Diagnostics& diagnostics_;
  std::set<int> ranks_;
  std::map<std::int32_t, Iteration> iterations_;
  std::map<std::int32_t, Nanoseconds> begins_;
  std::map<std::pair<int, std::int32_t>, Nanoseconds> shifts_;  // by rank and iteration
};

}  // namespace

FormatMatch MegatronReader::probe(std::string_view head) const {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || head[first] != '[') return FormatMatch::kNo;
  const auto has = [&](std::string_view key) { return head.find(key) != std::string_view::npos; };
  const bool isIt = has("\"rel_ts\"") && has("\"ph\"") && !has("\"ts\"");
  return isIt ? FormatMatch::kCertain : FormatMatch::kNo;
}

ReadOutcome MegatronReader::read(ByteSource& source, const ReadRequest& request, Timeline& timeline,
                                 Diagnostics& diagnostics) const {
  RankReader reader(source.name(), request, timeline, diagnostics);
  JsonObjects objects(source);
  std::int64_t count = 0;
  for (std::string_view object; objects.next(object); ++count) reader.add(object, objects.line());
  if (objects.broken() > 0) {
    diagnostics.add({.file = source.name(),
                     .message = "an entry does not end and was left out",
                     .advice = "the recording was stopped in the middle of it",
                     .count = objects.broken()});
  }
  if (request.run >= 0) {
    diagnostics.add({.severity = Severity::kNote,
                     .file = source.name(),
                     .message = "such a file holds one run only, which was read whatever --run "
                                "says"});
  }
  ReadOutcome outcome;
  outcome.events = reader.finish();
  outcome.process.isRankGuessed = request.isRankGuessed();
  if (outcome.events == 0) {
    outcome.whyNone = "it holds " + std::to_string(count) + " entries of MegatronApp's tracer, " +
                      "none of them a pair of B and E";
  }
  return outcome;
}

void lineUpMegatronRanks(Timeline& timeline, Diagnostics& diagnostics) {
  RankAligner(timeline, diagnostics).align();
}

}  // namespace pipetrace
