#include "python/abi/run_tables.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "analysis/time_by_name.h"
#include "trace/error.h"
#include "trace/event_arguments.h"
#include "trace/log/log_format.h"
#include "trace/phase.h"
#include "trace/text/suggestions.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

using Type = TableColumn::Type;
constexpr TableColumn::Has kAll = TableColumn::Has::kAll;

/// The rows of a part of a table, such as a track: [first, first + count).
struct Rows {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// The events of these tracks as rows, one after the other.
class TrackRows {
 public:
  explicit TrackRows(std::vector<const Track*> tracks) : tracks_(std::move(tracks)) {
    for (const Track* const track : tracks_) {
      rows_.push_back({count_, track->events.size()});
      count_ += track->events.size();
    }
  }

  std::size_t count() const { return count_; }

  /// Calls `fill` with each track and its rows, on several threads.
  template <typename Fill>
  void forEach(int threads, const Fill& fill) const {
    inParallel(threads, tracks_.size(), [&](std::size_t i) { fill(*tracks_[i], rows_[i]); });
  }

 private:
  std::vector<const Track*> tracks_;
  std::vector<Rows> rows_;
  std::size_t count_ = 0;
};

/// A column of the names of kinds, by number.
std::int8_t* kindsOf(TableColumn& column) {
  for (int kind = 0; kind < kJobKindCount; ++kind) {
    column.texts().add(logName(static_cast<JobKind>(kind)));
  }
  return column.values<std::int8_t>();
}

std::int8_t* phasesOf(TableColumn& column) {
  for (const Phase phase : {Phase::kTraining, Phase::kEvaluate, Phase::kPredict}) {
    const std::string_view name = logName(phase);
    column.texts().add(name.empty() ? "training" : name);
  }
  return column.values<std::int8_t>();
}

/// The names of a column's events, as places among its texts. Each name that occurs has one.
class TimelineTexts {
 public:
  TimelineTexts(const Timeline& timeline, const std::vector<const Track*>& tracks, int threads,
                TableColumn& column)
      : places_(timeline.strings.size(), kUnused) {
    inParallel(threads, tracks.size(), [&](std::size_t i) {
      StringId last = 0;
      for (const Event& event : tracks[i]->events) {
        if (event.name == last) continue;
        last = event.name;
        std::atomic_ref(places_[last]).store(kUsed, std::memory_order_relaxed);
      }
    });
    for (std::size_t id = 1; id < places_.size(); ++id) {
      if (places_[id] == kUsed) {
        places_[id] = column.texts().add(timeline.strings[static_cast<StringId>(id)]);
      }
    }
    if (!places_.empty()) places_[0] = kUnused;
  }

  /// −1 for none.
  std::int32_t placeOf(StringId text) const { return places_[text]; }

 private:
  static constexpr std::int32_t kUnused = -1;
  static constexpr std::int32_t kUsed = -2;
  std::vector<std::int32_t> places_;
};

/// A column of texts of a timeline's table. Each text that occurs has a place, which only one
/// thread may ask for.
class FoundTexts {
 public:
  FoundTexts(const Timeline& timeline, TableColumn& column)
      : timeline_(timeline), column_(column), places_(timeline.strings.size(), kUnknown) {}

  /// −1 for none.
  std::int32_t placeOf(StringId text) {
    if (text == 0) return -1;
    std::int32_t& place = places_[text];
    if (place == kUnknown) place = column_.texts().add(timeline_.strings[text]);
    return place;
  }

 private:
  static constexpr std::int32_t kUnknown = -2;
  const Timeline& timeline_;
  TableColumn& column_;
  std::vector<std::int32_t> places_;
};

/// What the topology says of ranks, by their numbers.
class Places {
 public:
  explicit Places(const Run& run) : topology_(run.topology()) {}

  std::int32_t dataParallel(int rank) const {
    const Topology::Place* const place = find(rank);
    return place == nullptr ? kNotGiven : topology_.dataParallelIndex(place->replica);
  }
  std::int32_t tensorParallel(int rank) const {
    const Topology::Place* const place = find(rank);
    return place == nullptr ? kNotGiven : topology_.tensorParallelIndex(place->replica);
  }

 private:
  const Topology::Place* find(int rank) const {
    const auto found = topology_.places.find(rank);
    return found == topology_.places.end() ? nullptr : &found->second;
  }

  const Topology& topology_;
};

std::shared_ptr<Table> jobsTable(const Run& run) {
  const Timeline& timeline = run.timeline();
  std::vector<const Track*> tracks;
  for (const Track& track : timeline.tracks) {
    if (track.lane == kComputeLane) tracks.push_back(&track);
  }
  const TrackRows rows(tracks);
  auto table = std::make_shared<Table>(rows.count());
  TableColumn& rank = table->add("rank", Type::kInt32, kAll);
  TableColumn& dataParallel = table->add("dp", Type::kInt32);
  TableColumn& tensorParallel = table->add("tp", Type::kInt32);
  TableColumn& stage = table->add("stage", Type::kInt32);
  TableColumn& chunk = table->add("chunk", Type::kInt16);
  TableColumn& step = table->add("step", Type::kInt32);
  TableColumn& phase = table->add("phase", Type::kWord, kAll);
  TableColumn& kind = table->add("kind", Type::kWord, kAll);
  TableColumn& microBatch = table->add("micro_batch", Type::kInt32);
  TableColumn& part = table->add("part", Type::kInt16);
  TableColumn& name = table->add("name", Type::kText);
  TableColumn& id = table->add("id", Type::kInt64);
  TableColumn& begin = table->add("begin_ns", Type::kInt64, kAll);
  TableColumn& end = table->add("end_ns", Type::kInt64, kAll);
  TableColumn& duration = table->add("duration_ns", Type::kInt64, kAll);

  const Places places(run);
  std::int8_t* const kinds = kindsOf(kind);
  std::int8_t* const phases = phasesOf(phase);
  const TimelineTexts names(timeline, tracks, run.threads(), name);
  rows.forEach(run.threads(), [&](const Track& track, const Rows& of) {
    const auto fill = [&](TableColumn& column, std::int32_t value) {
      std::fill_n(column.values<std::int32_t>() + of.first, of.count, value);
    };
    fill(rank, track.rank);
    fill(dataParallel, places.dataParallel(track.rank));
    fill(tensorParallel, places.tensorParallel(track.rank));
    auto* const stages = stage.values<std::int32_t>();
    auto* const chunks = chunk.values<std::int16_t>();
    auto* const steps = step.values<std::int32_t>();
    auto* const microBatches = microBatch.values<std::int32_t>();
    auto* const parts = part.values<std::int16_t>();
    auto* const nameds = name.values<std::int32_t>();
    auto* const ids = id.values<std::int64_t>();
    auto* const begins = begin.values<std::int64_t>();
    auto* const ends = end.values<std::int64_t>();
    auto* const durations = duration.values<std::int64_t>();
    std::size_t row = of.first;
    for (const Event& event : track.events) {
      stages[row] = event.stage;
      chunks[row] = event.chunk;
      steps[row] = event.step;
      phases[row] = static_cast<std::int8_t>(event.phase);
      kinds[row] = static_cast<std::int8_t>(event.kind);
      microBatches[row] = event.microBatch;
      parts[row] = event.part;
      nameds[row] = names.placeOf(event.name);
      ids[row] = event.job;
      begins[row] = event.begin;
      ends[row] = event.end;
      durations[row] = event.duration();
      ++row;
    }
  });
  return table;
}

/// The ranks of events, by where these are.
class RanksOfEvents {
 public:
  explicit RanksOfEvents(const Timeline& timeline) {
    for (const Track& track : timeline.tracks) {
      if (!track.events.empty()) tracks_.push_back(&track);
    }
    std::sort(tracks_.begin(), tracks_.end(), [](const Track* a, const Track* b) {
      return std::less<>()(a->events.data(), b->events.data());
    });
  }

  int rankOf(const Event* event) const {
    const auto after = std::upper_bound(tracks_.begin(), tracks_.end(), event,
                                        [](const Event* one, const Track* track) {
                                          return std::less<>()(one, track->events.data());
                                        });
    return after == tracks_.begin() ? kNotGiven : (*std::prev(after))->rank;
  }

 private:
  std::vector<const Track*> tracks_;
};

/// The whole number that events have under a key.
class NumberArgument {
 public:
  NumberArgument(const Timeline& timeline, std::string_view key)
      : timeline_(timeline), key_(timeline.strings.find(key)) {}

  std::int64_t of(const Event* event) const {
    if (event == nullptr || !key_) return kNotGiven;
    for (const Argument& argument : timeline_.argumentsOf(*event)) {
      if (argument.key == *key_ && argument.type == ArgumentType::kInteger) return argument.integer;
    }
    return kNotGiven;
  }

 private:
  const Timeline& timeline_;
  std::optional<StringId> key_;
};

/// The text that events have under a key, or under the next one.
class TextArgument {
 public:
  TextArgument(const Timeline& timeline, const std::vector<std::string_view>& keys)
      : timeline_(timeline) {
    for (const std::string_view key : keys) {
      if (const auto id = timeline.strings.find(key)) keys_.push_back(*id);
    }
  }

  StringId of(const Event& event) const {
    for (const StringId key : keys_) {
      for (const Argument& argument : timeline_.argumentsOf(event)) {
        if (argument.key == key && argument.type == ArgumentType::kText) return argument.text;
      }
    }
    return 0;
  }

 private:
  const Timeline& timeline_;
  std::vector<StringId> keys_;
};

std::shared_ptr<Table> messagesTable(const Run& run) {
  const JobGraph& graph = run.graph();
  const std::size_t first = graph.jobCount();
  const std::size_t count = graph.messageEnd() - first;
  auto table = std::make_shared<Table>(count);
  TableColumn& from = table->add("from_rank", Type::kInt32);
  TableColumn& to = table->add("to_rank", Type::kInt32);
  TableColumn& kind = table->add("kind", Type::kWord, kAll);
  TableColumn& microBatch = table->add("micro_batch", Type::kInt32);
  TableColumn& step = table->add("step", Type::kInt32);
  TableColumn& stage = table->add("stage", Type::kInt32);
  TableColumn& bytes = table->add("bytes", Type::kInt64);
  TableColumn& begin = table->add("begin_ns", Type::kInt64, kAll);
  TableColumn& end = table->add("end_ns", Type::kInt64, kAll);
  TableColumn& duration = table->add("duration_ns", Type::kInt64, kAll);
  std::array<TableColumn*, 6> ends{};
  const std::array<const char*, 6> names = {"send_begin_ns",    "send_end_ns",    "send_job",
                                            "receive_begin_ns", "receive_end_ns", "receive_job"};
  for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = &table->add(names[i], Type::kInt64);

  const RanksOfEvents ranks(run.timeline());
  const NumberArgument size(run.timeline(), log_format::kBytes);
  const auto forward = static_cast<std::int8_t>(kind.texts().add("forward"));
  const auto backward = static_cast<std::int8_t>(kind.texts().add("backward"));
  constexpr std::size_t kPart = 65536;
  inParallel(run.threads(), (count + kPart - 1) / kPart, [&](std::size_t part) {
    for (std::size_t row = part * kPart; row < std::min(count, (part + 1) * kPart); ++row) {
      const auto id = static_cast<JobGraph::Id>(first + row);
      const JobGraph::Node& node = graph.node(id);
      const auto [send, receive] = graph.message(id);
      from.values<std::int32_t>()[row] = send != nullptr ? ranks.rankOf(send) : receive->peer;
      to.values<std::int32_t>()[row] = receive != nullptr ? ranks.rankOf(receive) : send->peer;
      const JobKind of = (receive != nullptr ? receive : send)->kind;
      kind.values<std::int8_t>()[row] = rowOf(of).isForward ? forward : backward;
      microBatch.values<std::int32_t>()[row] = node.microBatch;
      step.values<std::int32_t>()[row] = node.step;
      stage.values<std::int32_t>()[row] = node.stage;
      const std::int64_t sent = size.of(send);
      bytes.values<std::int64_t>()[row] = sent >= 0 ? sent : size.of(receive);
      begin.values<std::int64_t>()[row] = node.begin;
      end.values<std::int64_t>()[row] = node.end;
      duration.values<std::int64_t>()[row] = node.end - node.begin;
      std::size_t column = 0;
      for (const Event* const event : {send, receive}) {
        const bool isThere = event != nullptr;
        ends[column++]->values<std::int64_t>()[row] = isThere ? event->begin : kNotGiven;
        ends[column++]->values<std::int64_t>()[row] = isThere ? event->end : kNotGiven;
        ends[column++]->values<std::int64_t>()[row] = isThere ? event->job : kNotGiven;
      }
    }
  });
  return table;
}

std::shared_ptr<Table> collectivesTable(const Run& run) {
  const Timeline& timeline = run.timeline();
  std::vector<std::pair<const Event*, const Track*>> events;
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (isCollective(event.kind)) events.emplace_back(&event, &track);
    }
  }
  auto table = std::make_shared<Table>(events.size());
  TableColumn& rank = table->add("rank", Type::kInt32, kAll);
  TableColumn& lane = table->add("lane", Type::kText, kAll);
  TableColumn& kind = table->add("kind", Type::kWord, kAll);
  TableColumn& name = table->add("name", Type::kText);
  TableColumn& use = table->add("use", Type::kText);
  TableColumn& group = table->add("group", Type::kText);
  TableColumn& bytes = table->add("bytes", Type::kInt64);
  TableColumn& step = table->add("step", Type::kInt32);
  TableColumn& stage = table->add("stage", Type::kInt32);
  TableColumn& microBatch = table->add("micro_batch", Type::kInt32);
  TableColumn& job = table->add("job", Type::kInt64);
  TableColumn& begin = table->add("begin_ns", Type::kInt64, kAll);
  TableColumn& end = table->add("end_ns", Type::kInt64, kAll);
  TableColumn& duration = table->add("duration_ns", Type::kInt64, kAll);

  std::int8_t* const kinds = kindsOf(kind);
  FoundTexts names(timeline, name);
  FoundTexts uses(timeline, use);
  FoundTexts groups(timeline, group);
  const TextArgument members(timeline, {collective_arguments::kGroup, log_format::kMembers});
  const TextArgument purpose(timeline, {collective_arguments::kUse});
  const NumberArgument size(timeline, log_format::kBytes);
  const Track* lastTrack = nullptr;
  std::int32_t lanePlace = 0;
  for (std::size_t row = 0; row < events.size(); ++row) {
    const auto& [event, track] = events[row];
    if (track != lastTrack) lanePlace = lane.texts().add(track->lane);
    lastTrack = track;
    rank.values<std::int32_t>()[row] = track->rank;
    lane.values<std::int32_t>()[row] = lanePlace;
    kinds[row] = static_cast<std::int8_t>(event->kind);
    name.values<std::int32_t>()[row] = names.placeOf(event->name);
    use.values<std::int32_t>()[row] = uses.placeOf(purpose.of(*event));
    group.values<std::int32_t>()[row] = groups.placeOf(members.of(*event));
    bytes.values<std::int64_t>()[row] = size.of(event);
    step.values<std::int32_t>()[row] = event->step;
    stage.values<std::int32_t>()[row] = event->stage;
    microBatch.values<std::int32_t>()[row] = event->microBatch;
    job.values<std::int64_t>()[row] = event->job;
    begin.values<std::int64_t>()[row] = event->begin;
    end.values<std::int64_t>()[row] = event->end;
    duration.values<std::int64_t>()[row] = event->duration();
  }
  return table;
}

std::shared_ptr<Table> bubblesTable(const Run& run) {
  const JobGraph& graph = run.graph();
  const Bubbles& bubbles = run.bubbles();
  const CountedSteps counted = run.countedSteps();
  std::vector<std::pair<std::span<const Bubble>, Rows>> parts;  // two of each rank
  std::size_t count = 0;
  for (std::size_t rank = 0; rank < graph.ranks().size(); ++rank) {
    for (const auto* const of : {&bubbles.byRank, &bubbles.inside}) {
      const std::span<const Bubble> list =
          rank < of->size() ? std::span<const Bubble>((*of)[rank]) : std::span<const Bubble>();
      parts.push_back({list, {count, list.size()}});
      count += list.size();
    }
  }
  auto table = std::make_shared<Table>(count);
  TableColumn& rank = table->add("rank", Type::kInt32, kAll);
  TableColumn& step = table->add("step", Type::kInt32);
  TableColumn& isCounted = table->add("counted", Type::kBool, kAll);
  TableColumn& bubbleClass = table->add("class", Type::kWord, kAll);
  TableColumn& inside = table->add("inside_job", Type::kBool, kAll);
  TableColumn& begin = table->add("begin_ns", Type::kInt64, kAll);
  TableColumn& end = table->add("end_ns", Type::kInt64, kAll);
  TableColumn& duration = table->add("duration_ns", Type::kInt64, kAll);
  TableColumn& culpritRank = table->add("culprit_rank", Type::kInt32);
  TableColumn& culpritStage = table->add("culprit_stage", Type::kInt32);
  TableColumn& culpritKind = table->add("culprit_kind", Type::kWord);
  TableColumn& culpritMicroBatch = table->add("culprit_micro_batch", Type::kInt32);
  TableColumn& culpritStep = table->add("culprit_step", Type::kInt32);
  TableColumn& culpritJob = table->add("culprit_id", Type::kInt64);

  for (int i = 0; i <= static_cast<int>(BubbleClass::kUnknown); ++i) {
    bubbleClass.texts().add(bubbleClassName(static_cast<BubbleClass>(i)));
  }
  std::int8_t* const kinds = kindsOf(culpritKind);
  inParallel(run.threads(), parts.size(), [&](std::size_t i) {
    const auto& [list, rows] = parts[i];
    std::size_t row = rows.first;
    for (const Bubble& bubble : list) {
      rank.values<std::int32_t>()[row] = graph.ranks()[i / 2].number;
      step.values<std::int32_t>()[row] = bubble.step;
      isCounted.values<bool>()[row] = counted.contains(bubble.step);
      bubbleClass.values<std::int8_t>()[row] = static_cast<std::int8_t>(bubble.bubbleClass);
      inside.values<bool>()[row] = bubble.isInside;
      begin.values<std::int64_t>()[row] = bubble.begin;
      end.values<std::int64_t>()[row] = bubble.end;
      duration.values<std::int64_t>()[row] = bubble.end - bubble.begin;
      const bool isKnown = bubble.culprit != JobGraph::kNone;
      const Event* const event = isKnown ? &culpritEventOf(graph, bubble) : nullptr;
      culpritRank.values<std::int32_t>()[row] =
          isKnown ? graph.ranks()[culpritRankOf(graph, bubble)].number : kNotGiven;
      culpritStage.values<std::int32_t>()[row] = isKnown ? event->stage : kNotGiven;
      kinds[row] = isKnown ? static_cast<std::int8_t>(event->kind) : std::int8_t{-1};
      culpritMicroBatch.values<std::int32_t>()[row] = isKnown ? event->microBatch : kNotGiven;
      culpritStep.values<std::int32_t>()[row] = isKnown ? event->step : kNotGiven;
      culpritJob.values<std::int64_t>()[row] = isKnown ? event->job : kNotGiven;
      ++row;
    }
  });
  return table;
}

std::shared_ptr<Table> countersTable(const Run& run) {
  std::size_t count = 0;
  for (const CounterSeries& series : run.timeline().counters) count += series.samples.size();
  auto table = std::make_shared<Table>(count);
  TableColumn& rank = table->add("rank", Type::kInt32, kAll);
  TableColumn& name = table->add("name", Type::kText);
  TableColumn& unit = table->add("unit", Type::kText);
  TableColumn& time = table->add("time_ns", Type::kInt64, kAll);
  TableColumn& value = table->add("value", Type::kDouble);
  std::size_t row = 0;
  for (const CounterSeries& series : run.timeline().counters) {
    const std::int32_t namePlace = name.texts().add(series.name);
    const std::int32_t unitPlace = series.unit.empty() ? kNotGiven : unit.texts().add(series.unit);
    for (const CounterSample& sample : series.samples) {
      rank.values<std::int32_t>()[row] = series.rank;
      name.values<std::int32_t>()[row] = namePlace;
      unit.values<std::int32_t>()[row] = unitPlace;
      time.values<std::int64_t>()[row] = sample.time;
      value.values<double>()[row] = sample.value;
      ++row;
    }
  }
  return table;
}

std::shared_ptr<Table> byNameTable(const Run& run) {
  const std::vector<TimeByName> times = timesByName(run.timeline(), run.threads());
  auto table = std::make_shared<Table>(times.size());
  TableColumn& name = table->add("name", Type::kText);
  TableColumn& rank = table->add("rank", Type::kInt32, kAll);
  TableColumn& calls = table->add("calls", Type::kInt64, kAll);
  TableColumn& own = table->add("own_ns", Type::kInt64, kAll);
  TableColumn& total = table->add("total_ns", Type::kInt64, kAll);
  for (std::size_t row = 0; row < times.size(); ++row) {
    name.values<std::int32_t>()[row] = name.texts().add(times[row].name);
    rank.values<std::int32_t>()[row] = times[row].rank;
    calls.values<std::int64_t>()[row] = times[row].calls;
    own.values<std::int64_t>()[row] = times[row].own;
    total.values<std::int64_t>()[row] = times[row].total;
  }
  return table;
}

/// The tables by name, in the order in which messages list them.
constexpr std::array<std::pair<const char*, std::shared_ptr<Table> (*)(const Run&)>, 6> kTables = {{
    {"jobs", jobsTable},
    {"messages", messagesTable},
    {"collectives", collectivesTable},
    {"bubbles", bubblesTable},
    {"counters", countersTable},
    {"by_name", byNameTable},
}};

}  // namespace

std::vector<std::string> tableNames() {
  std::vector<std::string> names;
  names.reserve(kTables.size());
  for (const auto& [name, make] : kTables) names.emplace_back(name);
  return names;
}

std::shared_ptr<const Table> makeTable(const Run& run, const std::string& name) {
  for (const auto& [known, make] : kTables) {
    if (name != known) continue;
    const std::shared_ptr<Table> table = make(run);
    inParallel(run.threads(), table->columns().size(),
               [&](std::size_t i) { table->columns()[i]->complete(); });
    return table;
  }
  const std::string meant = nearestName(name, tableNames());
  throw Error("there is no table " + name +
              (meant.empty() ? "; there are jobs, messages, collectives, bubbles, counters and "
                               "by_name"
                             : "; did you mean " + meant + "?"));
}

}  // namespace pipetrace
