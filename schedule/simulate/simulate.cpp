#include "schedule/simulate/simulate.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "schedule/check/held_memory.h"
#include "schedule/simulate/critical_path.h"
#include "schedule/simulate/plan_timing.h"
#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

constexpr int kNone = PlanTiming::kNone;

constexpr std::string_view kLive = "live_activations";

/// The place of the rank's two counters, made if missing.
std::size_t countersOf(int rank, Timeline& timeline) {
  for (std::size_t i = 0; i < timeline.counters.size(); ++i) {
    if (timeline.counters[i].rank == rank && timeline.counters[i].name == kLive) return i;
  }
  timeline.counters.push_back({.rank = rank, .name = std::string(kLive)});
  timeline.counters.push_back({.rank = rank, .name = std::string(kMemoryCounter), .unit = "bytes"});
  return timeline.counters.size() - 2;
}

void addSample(CounterSeries& series, Nanoseconds time, double value) {
  if (!series.samples.empty() && series.samples.back().value == value) return;
  series.samples.push_back({time, value});
}

/// Appends to the counters "live_activations" and kMemoryCounter of each rank what it holds in the
/// step that `timing` ran last, whenever that changes.
void addHeldMemoryCounters(const Plan& plan, const Costs& costs, const PlanTiming& timing,
                           Timeline& timeline) {
  const auto weights = weightsByRank(plan, costs, timing.versions());
  const HeldFor heldFor = whatActivationsAreHeldFor(plan);
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    HeldMemory held(plan, heldFor, costs, weights[static_cast<std::size_t>(rank)], rank);
    const std::size_t first = countersOf(rank, timeline);
    const auto sample = [&](Nanoseconds time) {
      addSample(timeline.counters[first], time, held.live());
      addSample(timeline.counters[first + 1], time, static_cast<double>(held.memory()));
    };
    const auto& actions = plan.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (isDataParallel(actions[i].kind)) continue;
      const PlanTiming::Span span = timing.span(timing.numberOf({rank, static_cast<int>(i)}));
      held.begin(actions[i]);
      sample(span.begin);
      held.end(actions[i]);
      sample(span.end);
    }
  }
}

class Run {
 public:
  Run(const CheckedPlan& plan, const Costs& costs, const SimulateOptions& options)
      : plan_(*plan),
        costs_(costs),
        options_(options),
        timing_(plan, costs, options.commStreams),
        stages_(plan_.stagesByRank()),
        stageRanks_(toText(plan_.placement.ranksOfStage)) {
    StringTable& strings = out_.timeline.strings;
    actionKey_ = strings.intern(log_format::kAction);
    versionKey_ = strings.intern(log_format::kVersionKey);
    bytesKey_ = strings.intern(log_format::kBytes);
    membersKey_ = strings.intern(log_format::kMembers);
    for (int number = 0; number < timing_.actionCount(); ++number) {
      texts_.push_back(strings.intern(toText(plan_.inReplica(timing_.action(number)))));
    }
    const std::size_t ranks = plan_.ranks.size();
    free_.assign(ranks, options.begin);
    nextId_.assign(ranks, 0);
    countJobs();
    started_.assign(ranks, 0);
    for (int rank = 0; rank < plan_.numRanks(); ++rank) addRank(rank);
  }

  Simulation run() {
    for (int step = 0; step < options_.steps; ++step) runStep(step);
    out_.length = *std::max_element(free_.begin(), free_.end()) - options_.begin;
    findPeaks();
    out_.timeline.sort();
    for (const Track& track : out_.timeline.tracks) {
      out_.timeline.ranks.at(track.rank).written += static_cast<std::int64_t>(track.events.size());
    }
    return std::move(out_);
  }

 private:
  /// Data-parallel work without a time is no job: others have the same ids as without it.
  void countJobs() {
    jobCount_.assign(plan_.ranks.size(), 0);
    for (int number = 0; number < timing_.actionCount(); ++number) {
      std::int64_t& count = jobCount_[static_cast<std::size_t>(timing_.rankOf(number))];
      placeInStep_.push_back(count);
      if (!timing_.isEmpty(number)) ++count;
    }
  }

  void addRank(int rank) {
    const auto r = static_cast<std::size_t>(rank);
    out_.ranks.emplace_back();
    Track& track = out_.timeline.track(rank, kComputeLane);
    track.events.reserve((plan_.ranks[r].size() + 2) * static_cast<std::size_t>(options_.steps));

    RankInfo& info = out_.timeline.ranks[rank];
    info.rank = rank;
    info.worldSize = plan_.numRanks();
    info.numStages = plan_.numStages;
    info.numChunks = static_cast<int>(stages_[r].size());
    info.numMicroBatches = plan_.microBatchesOfReplica();
    if (plan_.placement.hasSeveralRanks()) info.ranksOfStage = stageRanks_;
    info.schedule = plan_.name;
    info.dataParallelIndex = plan_.replicaOf(rank);
    info.clock = "simulated";
    info.device = "simulated";
    info.hasEnd = true;
  }

  void runStep(int step) {
    if (options_.stepsStartTogether) {
      std::fill(free_.begin(), free_.end(), *std::max_element(free_.begin(), free_.end()));
    }
    step_ = step;
    if (timing_.lr() > 0) addToAllRanks(JobKind::kLr, timing_.lr());
    firstId_ = nextId_;
    timing_.run(free_, step_);
    for (std::size_t r = 0; r < nextId_.size(); ++r) nextId_[r] += jobCount_[r];
    for (int number = 0; number < timing_.actionCount(); ++number) addAction(number);
    for (int message = 0; message < timing_.messageCount(); ++message) addMessage(message);
    for (const Reduction& reduction : timing_.reductions()) addReduction(reduction);
    if (plan_.isAsynchronous()) {
      addUpdates();
    } else if (timing_.optimizerAtEnd() > 0 || !timing_.reductions().empty()) {
      // Without one the step would seem to end before its reductions.
      addToAllRanks(JobKind::kOptimizer, timing_.optimizerAtEnd());
    }
    if (options_.counters) addHeldMemoryCounters(plan_, costs_, timing_, out_.timeline);
    if (step + 1 == options_.steps) {
      out_.criticalPath = findCriticalPath(timing_, free_);
    }
  }

  Event jobOf(JobKind kind, int rank) {
    Event event;
    event.kind = kind;
    event.job = nextId_[static_cast<std::size_t>(rank)]++;
    event.step = step_;
    event.microBatch = 0;
    event.number = 0;
    return event;
  }

  void addToAllRanks(JobKind kind, Nanoseconds cost) {
    for (int rank = 0; rank < plan_.numRanks(); ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      Event event = jobOf(kind, rank);
      event.begin = free_[r];
      event.end = free_[r] += cost;
      out_.timeline.tracks[r].events.push_back(event);
    }
  }

  /// The optimizer jobs of an asynchronous plan.
  void addUpdates() {
    std::vector<int> done(static_cast<std::size_t>(plan_.numStages), 0);
    const std::vector<WeightVersions::Update>& updates = timing_.versions().updates;
    for (std::size_t i = 0; i < updates.size(); ++i) {
      const WeightVersions::Update& update = updates[i];
      const int version = update.number + 1;
      int& most = done[static_cast<std::size_t>(update.stage)];
      most = std::max(most, version);
      if (costs_.optimizer == 0) continue;
      Event event = jobOf(JobKind::kOptimizer, update.after.rank);
      event.stage = update.stage;
      event.chunk = chunkOf(update.after.rank, update.stage);
      event.begin = timing_.spanOf(timing_.network().ofUpdate(static_cast<int>(i))).begin;
      event.end = event.begin + costs_.optimizer;
      const Argument argument = Argument::ofInteger(versionKey_, firstVersion_ + version);
      out_.timeline.setArguments(event, {&argument, 1});
      out_.timeline.tracks[static_cast<std::size_t>(update.after.rank)].events.push_back(event);
    }
    firstVersion_ += *std::max_element(done.begin(), done.end());
  }

  void addAction(int number) {
    const Action& action = timing_.action(number);
    if (isDataParallel(action.kind)) return addDataParallel(number);
    if (!isCompute(action.kind)) return;
    const int rank = timing_.rankOf(number);
    const PlanTiming::Span span = timing_.span(number);
    Event event;
    event.kind = action.kind;
    event.job = idOf(number);
    event.step = step_;
    event.stage = action.stage;
    event.microBatch = event.number = plan_.numberInReplica(action.microBatch);
    event.chunk = chunkOf(rank, action.stage);
    event.part = static_cast<std::int16_t>(action.part);
    event.begin = span.begin;
    event.end = span.end;
    const Argument arguments[] = {
        Argument::ofText(actionKey_, texts_[static_cast<std::size_t>(number)]),
        Argument::ofInteger(
            versionKey_,
            firstVersion_ + timing_.versions().usedBy(plan_, action.stage, action.microBatch))};
    const std::size_t count = plan_.isAsynchronous() ? 2 : 1;
    out_.timeline.setArguments(event, {arguments, count});
    out_.timeline.tracks[static_cast<std::size_t>(rank)].events.push_back(event);

    Simulation::Rank& found = out_.ranks[static_cast<std::size_t>(rank)];
    if (!started_[static_cast<std::size_t>(rank)]) found.first = span.begin;
    started_[static_cast<std::size_t>(rank)] = true;
    found.busy += event.duration();
    found.last = std::max(found.last, event.end);
  }

  /// A job of the compute lane beside the work of the plan: the rank is not busy with it.
  void addDataParallel(int number) {
    if (timing_.isEmpty(number)) return;
    const Action& action = timing_.action(number);
    const int rank = timing_.rankOf(number);
    Event event;
    const StringId text = texts_[static_cast<std::size_t>(number)];
    event.kind = action.kind;
    if (action.kind == JobKind::kReshard) {  // no kind of job, so that its name says what it is
      event.kind = JobKind::kOther;
      event.name = text;
    }
    event.job = idOf(number);
    event.step = step_;
    event.stage = action.stage;
    event.microBatch = event.number = std::max(action.microBatch, 0);
    const std::vector<int>& stages = stages_[static_cast<std::size_t>(rank)];
    const bool isOwn = std::binary_search(stages.begin(), stages.end(), action.stage);
    if (isOwn) event.chunk = chunkOf(rank, action.stage);
    event.begin = timing_.span(number).begin;
    event.end = timing_.span(number).end;
    const Argument argument = Argument::ofText(actionKey_, text);
    out_.timeline.setArguments(event, {&argument, 1});
    out_.timeline.tracks[static_cast<std::size_t>(rank)].events.push_back(event);
  }

  /// It begins on each of its ranks when that comes to it, or has ended the one before.
  void addReduction(const Reduction& reduction) {
    const auto& all = timing_.reductions();
    std::string members;
    for (const Reduction::Member& member : reduction.members) {
      members += (members.empty() ? "" : " ") + std::to_string(member.rank);
    }
    const Argument argument = Argument::ofText(membersKey_, out_.timeline.strings.intern(members));
    for (const Reduction::Member& member : reduction.members) {
      Event event;
      event.kind = JobKind::kAllReduce;
      event.step = step_;
      event.stage = reduction.stage;
      event.begin = member.arrived;
      if (reduction.stage == kAllStages) {
        event.stage = kNotGiven;
      } else {
        event.chunk = chunkOf(member.rank, reduction.stage);
      }
      if (reduction.before != kNone && reduction.stage != kAllStages) {
        event.begin = std::max(event.begin, all[static_cast<std::size_t>(reduction.before)].end);
      }
      event.end = reduction.end;
      out_.timeline.setArguments(event, {&argument, 1});
      out_.timeline.track(member.rank, kReductionLane).events.push_back(event);
    }
  }

  /// Both ends of a message, where it takes time or stands in the plan.
  void addMessage(int message) {
    const PlanNetwork& network = timing_.network();
    const int user = network.userOf(message);
    if (user == kNone) return;
    const PlanTiming::Transfer moved = timing_.transfer(message);
    if (moved.begin == moved.end && !network.hasTransfers()) return;
    const int maker = PlanNetwork::makerOf(message);
    const int sender = timing_.rankOf(maker);
    const int receiver = timing_.rankOf(user);
    const PlannedMessages made = messagesFrom(timing_.action(maker));
    const PlannedMessage& what = made.list[PlanNetwork::isForward(message) ? 0 : made.count - 1];
    // A stream takes up a message when it is through with the one before.
    const bool waitsForLink = moved.begin > std::max(moved.sent, moved.posted);

    Event event;
    event.step = step_;
    event.microBatch = plan_.numberInReplica(what.microBatch);
    event.end = moved.end;
    if (const std::int64_t bytes = timing_.bytesOf(message); bytes > 0) {
      const Argument argument = Argument::ofInteger(bytesKey_, bytes);
      out_.timeline.setArguments(event, {&argument, 1});
    }
    event.begin = waitsForLink ? moved.begin : moved.sent;
    event.kind = transferKind(true, what.forward);
    addMessageEnd(event, sender, receiver, what.from, idOf(maker), true);
    event.begin = waitsForLink ? moved.begin : moved.posted;
    event.kind = transferKind(false, what.forward);
    addMessageEnd(event, receiver, sender, what.to(), idOf(user), false);
  }

  void addMessageEnd(Event event, int rank, int peer, int stage, std::int64_t job, bool sends) {
    event.stage = stage;
    event.chunk = chunkOf(rank, stage);
    event.peer = peer;
    event.job = job;
    auto& tracks = out_.timeline.tracks;
    const bool isInLine = linesOfRank(options_.commStreams, plan_.numRanks()) > 0;
    const MessageEnd end{.peer = peer, .sends = sends, .forward = isForwardTransfer(event.kind)};
    const int lane = isInLine ? lineOf(options_.commStreams, end) : sends ? kSends : kReceives;
    const auto [known, isNew] = messageTracks_.try_emplace({rank, lane}, tracks.size());
    if (isNew) {
      std::string name(sends ? kSendLane : kRecvLane);
      if (isInLine) {
        name = laneOf(options_.commStreams, end);
        addLineName(options_.commStreams, name, out_.timeline.ranks.at(rank).lines);
      }
      out_.timeline.track(rank, name);
    }
    tracks[known->second].events.push_back(event);
  }

  void findPeaks() {
    const auto weights = weightsByRank(plan_, costs_, timing_.versions());
    const HeldFor heldFor = whatActivationsAreHeldFor(plan_);
    for (std::size_t r = 0; r < out_.ranks.size(); ++r) {
      const Peaks peaks = peaksOf(plan_, heldFor, costs_, weights[r], static_cast<int>(r));
      out_.ranks[r].peakLive = peaks.live;
      out_.ranks[r].peakMemory = peaks.memory;
      for (const int stage : stages_[r]) {
        const int held = timing_.versions().stages[static_cast<std::size_t>(stage)].held;
        out_.ranks[r].versions = std::max(out_.ranks[r].versions, held);
      }
    }
  }

  std::int64_t idOf(int number) const {
    return firstId_[static_cast<std::size_t>(timing_.rankOf(number))] +
           placeInStep_[static_cast<std::size_t>(number)];
  }

  std::int16_t chunkOf(int rank, int stage) const {
    const std::vector<int>& stages = stages_[static_cast<std::size_t>(rank)];
    const auto found = std::lower_bound(stages.begin(), stages.end(), stage);
    return static_cast<std::int16_t>(found - stages.begin());
  }

  const Plan& plan_;
  const Costs& costs_;
  const SimulateOptions& options_;
  PlanTiming timing_;
  std::vector<std::vector<int>> stages_;  // by rank
  std::string stageRanks_;
  Simulation out_;
  StringId actionKey_ = 0;
  StringId versionKey_ = 0;
  StringId bytesKey_ = 0;
  StringId membersKey_ = 0;
  std::vector<StringId> texts_;  // by action
  std::int32_t step_ = 0;
  int firstVersion_ = 0;                   // of the weights, in this step
  std::vector<Nanoseconds> free_;          // by rank: when it can do its next job
  std::vector<std::int64_t> nextId_;       // by rank
  std::vector<std::int64_t> firstId_;      // by rank: the id of the step's first action
  std::vector<std::int64_t> jobCount_;     // by rank: ids that its actions take in a step
  std::vector<std::int64_t> placeInStep_;  // by action: how many of them come before its own
  std::vector<char> started_;              // by rank: whether it has done a compute job
  static constexpr int kSends = -1;
  static constexpr int kReceives = -2;
  std::map<std::pair<int, int>, std::size_t>
      messageTracks_;  // by rank and line of it, or one of these
};

}  // namespace

Simulation simulate(const CheckedPlan& plan, const Costs& costs, const SimulateOptions& options) {
  return Run(plan, costs, options).run();
}

}  // namespace pipetrace
