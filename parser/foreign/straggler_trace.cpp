#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "parser/foreign/foreign_trace.h"
#include "parser/foreign/names/programs/programs.h"
#include "parser/foreign/pipeline_positions.h"
#include "parser/trace_reader.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

constexpr std::int64_t kLanesOfRank = 5;

/// The place that the name of a lane gives.
struct Place {
  int stage = 0;
  int tensor = 0;
  std::string_view lane;
};

/// The number after `word` at the start of the text; both are removed.
std::optional<int> takeNumber(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return std::nullopt;
  text.remove_prefix(word.size());
  const std::size_t end = std::min(text.find(','), text.size());
  const auto number = parseNumber<int>(text.substr(0, end));
  text.remove_prefix(end);
  return number && *number >= 0 && *number < kMostPositions ? number : std::nullopt;
}

std::optional<Place> placeOf(std::string_view name) {
  const auto stage = takeNumber(name, "PP rank ");
  const auto tensor = takeNumber(name, ", TP rank ");
  if (!stage || !tensor || !name.starts_with(", ") || name.size() == 2) return std::nullopt;
  return Place{*stage, *tensor, name.substr(2)};
}

class StragglerPlacer {
 public:
  explicit StragglerPlacer(ForeignTrace& trace) : trace_(trace) {}

  void place() {
    for (ForeignTrace::Lane& lane : trace_.lanes) {
      places_.push_back(*placeOf(lane.thread->name));
      depth_ = std::max(depth_, places_.back().stage + 1);
      tensorRanks_ = std::max(tensorRanks_, places_.back().tensor + 1);
      lane.name = places_.back().lane;
      for (const Event& event : lane.thread->events) {
        chunks_ = std::max(chunks_, event.chunk + 1);
        lastMicroBatch_ = std::max(lastMicroBatch_, event.microBatch);
      }
    }
    giveRanks();
    if (chunks_ == 1) countMicroBatches(trace_.timeline.strings.intern("seq_id"));
    for (std::size_t i = 0; i < places_.size(); ++i) describe(i);
    if (chunks_ == 1) giveMicroBatches();
  }

 private:
  using Group = std::tuple<std::size_t, int, int>;  // process, stage, tensor-parallel rank

  Group groupOf(std::size_t lane) const {
    return {trace_.lanes[lane].process, places_[lane].stage, places_[lane].tensor};
  }

  /// Numbers the ranks by the tids, if those are as expected, else in the order of stages and
  /// processes.
  void giveRanks() {
    trace_.recorded.isRankGuessed = trace_.firstRank > 0;
    bool isNumbered = true;
    std::map<std::int64_t, std::set<Group>> byTid;
    std::map<Group, std::set<std::int64_t>> tids;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const ChromeId& tid = *trace_.lanes[i].tid;
      isNumbered = isNumbered && !tid.isText && tid.number >= 0 &&
                   tid.number / kLanesOfRank <= kHighestRank - trace_.firstRank;
      byTid[tid.number / kLanesOfRank].insert(groupOf(i));
      tids[groupOf(i)].insert(tid.number / kLanesOfRank);
    }
    for (const auto& [number, groups] : byTid) isNumbered = isNumbered && groups.size() == 1;
    for (const auto& [group, numbers] : tids) isNumbered = isNumbered && numbers.size() == 1;
    int next = trace_.firstRank;
    for (const auto& [group, numbers] : tids) {
      const int rank = isNumbered ? trace_.firstRank + static_cast<int>(*numbers.begin()) : next++;
      ranks_[group] = rank;
      highestRank_ = std::max(highestRank_, rank);
    }
  }

  /// A file may hold one tensor-parallel rank of several; the number of ranks in the run is then
  /// unknown.
  bool hasEveryRank() const { return static_cast<std::size_t>(highestRank_) + 1 == ranks_.size(); }

  void describe(std::size_t index) {
    ForeignTrace::Lane& lane = trace_.lanes[index];
    const Place& place = places_[index];
    lane.rank = ranks_.at(groupOf(index));
    RankInfo& info = trace_.timeline.ranks[lane.rank];
    const ChromeId& pid = *trace_.processes[lane.process].pid;
    info.device = trace_.processes[lane.process].contents->name + ", PP rank " +
                  std::to_string(place.stage) + ", TP rank " + std::to_string(place.tensor);
    if (hasEveryRank()) info.worldSize = static_cast<int>(ranks_.size());
    info.numStages = depth_ * chunks_;
    info.numChunks = chunks_;
    if (lastMicroBatch_ >= 0 && lastMicroBatch_ < kMostMicroBatches) {
      info.numMicroBatches = lastMicroBatch_ + 1;
    }
    if (!pid.isText && pid.number >= 0 && pid.number <= kHighestRank) {
      info.dataParallelIndex = static_cast<int>(pid.number);
    }
    if (tensorRanks_ > 1) info.tensorParallelIndex = place.tensor;
    for (Event& event : lane.thread->events) giveStage(event, lane.process, place);
  }

  void giveStage(Event& event, std::size_t process, const Place& place) const {
    if (chunks_ == 1 && (isCompute(event.kind) || isTransfer(event.kind))) event.chunk = 0;
    if (event.chunk != kNotGiven) event.stage = event.chunk * depth_ + place.stage;
    if (!isTransfer(event.kind)) return;
    const bool toNext = event.kind == JobKind::kSendForward || event.kind == JobKind::kRecvBackward;
    const auto peer =
        ranks_.find({process, (place.stage + (toNext ? 1 : depth_ - 1)) % depth_, place.tensor});
    if (peer != ranks_.end()) event.peer = peer->second;
  }

  std::int64_t numberOf(const Event& event, StringId key) const {
    for (const Argument& argument : trace_.timeline.argumentsOf(event)) {
      if (argument.key == key && argument.type == ArgumentType::kInteger) return argument.integer;
    }
    return kNotGiven;
  }

  /// A rank, a step, whether forward, and a micro-batch or seq_id.
  using Number = std::tuple<int, std::int32_t, bool, std::int64_t>;

  template <typename Visit>
  void visitJobs(const Visit& visit) {
    for (ForeignTrace::Lane& lane : trace_.lanes) {
      for (Event& event : lane.thread->events) {
        const bool isForward = event.kind == JobKind::kForward;
        if (isForward || event.kind == JobKind::kBackward) visit(lane.rank, event, isForward);
      }
    }
  }

  /// Jobs whose `mb_id` does not tell them apart are of the micro-batch that `seq_id` counts.
  void countMicroBatches(StringId key) {
    std::set<Number> taken;
    bool areApart = true;
    visitJobs([&](int rank, const Event& event, bool isForward) {
      const bool isNew = taken.insert({rank, event.step, isForward, event.microBatch}).second;
      areApart = areApart && isNew && event.microBatch >= 0;
    });
    if (areApart) return;
    visitJobs([&](int, Event& event, bool) {
      const std::int64_t number = numberOf(event, key);
      if (number < 0 || number >= kMostMicroBatches) return;
      event.microBatch = static_cast<std::int32_t>(number);
      lastMicroBatch_ = std::max(lastMicroBatch_, event.microBatch);
    });
  }

  void giveMicroBatches() {
    const StringId key = trace_.timeline.strings.intern("seq_id");
    std::map<Number, std::int32_t> microBatches;
    visitJobs([&](int rank, const Event& event, bool isForward) {
      microBatches[{rank, event.step, isForward, numberOf(event, key)}] = event.microBatch;
    });
    for (ForeignTrace::Lane& lane : trace_.lanes) {
      for (Event& event : lane.thread->events) {
        if (!isTransfer(event.kind) || event.microBatch != kNotGiven) continue;
        const bool isForward =
            event.kind == JobKind::kSendForward || event.kind == JobKind::kRecvForward;
        const auto found =
            microBatches.find({lane.rank, event.step, isForward, numberOf(event, key)});
        if (found != microBatches.end()) event.microBatch = found->second;
      }
    }
  }

  ForeignTrace& trace_;
  std::vector<Place> places_;  // by lane
  std::map<Group, int> ranks_;
  int highestRank_ = -1;
  int depth_ = 0;
  int tensorRanks_ = 1;
  int chunks_ = 1;
  std::int32_t lastMicroBatch_ = kNotGiven;
};

}  // namespace

bool isStragglerTrace(const ForeignTrace& trace) {
  return !trace.lanes.empty() &&
         std::all_of(trace.lanes.begin(), trace.lanes.end(),
                     [](const auto& lane) { return placeOf(lane.thread->name).has_value(); });
}

void placeStragglerTrace(ForeignTrace& trace) { StragglerPlacer(trace).place(); }

}  // namespace pipetrace
