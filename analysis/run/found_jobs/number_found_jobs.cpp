#include "analysis/run/found_jobs/number_found_jobs.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "schedule/action.h"
#include "schedule/build_schedule.h"
#include "trace/error.h"
#include "trace/log/fused_pair.h"
#include "trace/log/log_format.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

constexpr int kMostFoundChunks = 16;

/// A forward of a rank and step, with the jobs of its micro-batch there.
struct FoundPass {
  Event* forward = nullptr;
  std::vector<Event*> backwards;
  bool receives = false;
  bool sends = false;
  std::int32_t stage = kNotGiven;
  std::int32_t microBatch = kNotGiven;
};

bool isPair(const Event& event) { return event.kind == JobKind::kForwardBackward; }
bool runsForward(const Event& event) { return event.kind == JobKind::kForward || isPair(event); }

/// A rank in one step.
struct RankOfStep {
  bool isThere = false;           // it has a file
  std::vector<FoundPass> passes;  // by their order
  std::vector<Event*> jobs;       // all found compute jobs
  /// Whether a fused pair runs the backward of a forward that was not found.
  bool hasLostPairs = false;
  bool isByOrder = false;    // only their order says whose backwards are whose
  std::size_t receives = 0;  // messages that it gets in all steps, of both directions
  bool namesPeers = false;   // its messages do
};

bool isFoundJob(const Event& event) { return isCompute(event.kind) && event.stage == kNotGiven; }

/// Where a forward is: the rank's place in the pipeline, and its place among the forwards.
struct PassPlace {
  std::size_t position = 0;
  std::size_t pass = 0;
};

/// A step of a pipeline on all of its ranks.
class StepOfPipeline {
 public:
  /// One of `steps` steps.
  StepOfPipeline(std::vector<RankOfStep> ranks, std::size_t steps)
      : ranks_(std::move(ranks)), steps_(steps) {}

  std::size_t size() const { return ranks_.size(); }
  /// The positions of the stages, after followSchedule() found a schedule.
  const std::map<std::int32_t, std::size_t>& places() const { return places_; }
  RankOfStep& rank(std::size_t position) { return ranks_[position]; }

  /// Messages of forwards: those from one position to another, in their order.
  using Links = std::map<std::pair<std::size_t, std::size_t>, std::vector<PassPlace>>;

  /// Follows each micro-batch through its messages. False where they do not tell.
  bool followMessages(const Links& sends, const Links& receives) {
    std::map<std::pair<std::size_t, std::size_t>, PassPlace> next;  // of the pass on the way
    for (const auto& [link, sent] : sends) {
      const auto got = receives.find(link);
      if (got == receives.end() || got->second.size() != sent.size()) return false;
      for (std::size_t i = 0; i < sent.size(); ++i) {
        next[{sent[i].position, sent[i].pass}] = got->second[i];
      }
    }
    for (const auto& [link, got] : receives) {
      if (!sends.contains(link)) return false;
    }
    if (!handOver(next)) return false;
    std::int32_t microBatch = 0;
    std::int32_t stages = 0;
    for (std::size_t first = 0; first < ranks_[0].passes.size(); ++first) {
      if (ranks_[0].passes[first].receives) continue;
      if (isContinued_.contains({0, first})) continue;
      PassPlace at{0, first};
      std::int32_t stage = 0;
      while (true) {
        FoundPass& pass = ranks_[at.position].passes[at.pass];
        if (pass.stage != kNotGiven) return false;
        pass.stage = stage++;
        pass.microBatch = microBatch;
        const auto following = next.find({at.position, at.pass});
        if (following == next.end()) break;
        at = following->second;
      }
      if (microBatch > 0 && stage != stages) return false;
      stages = stage;
      ++microBatch;
    }
    return isComplete();
  }

  /// Compares the order of jobs with all schedules, those of few chunks first, and takes the
  /// numbers of the first one that fits. Where a rank's order alone says whose its backwards are,
  /// several may fit and give other numbers. Then one of the fewest chunks holds, if there is
  /// one in which micro-batches come back in their order. Returns how many give other
  /// numbers.
  std::size_t followSchedule() {
    const auto first = std::find_if(ranks_.begin(), ranks_.end(),
                                    [](const RankOfStep& rank) { return rank.isThere; });
    const auto forwards = static_cast<int>(first->passes.size());
    std::map<std::vector<std::int32_t>, Plan> fitting;  // by the numbers that they give
    std::optional<std::pair<int, bool>> best;           // chunks, and whether out of order
    std::vector<std::int32_t> chosen;
    for (int chunks = 1; chunks <= kMostFoundChunks; ++chunks) {
      if (forwards % chunks != 0) continue;
      for (const ScheduleInfo& info : knownSchedules()) {
        const std::optional<Plan> plan = planOf(info, forwards / chunks, chunks);
        forget();
        if (!plan || !take(*plan) || !agreesWithMessages()) continue;
        if (!isByOrder()) return 1;
        const std::pair rank(chunks, !isInOrder());
        const std::vector<std::int32_t> numbers = numbersOfJobs();
        if (!best || rank < *best) {
          best = rank;
          chosen = numbers;
        }
        fitting.try_emplace(numbers, *plan);
      }
    }
    forget();
    if (best) take(fitting.at(chosen));
    return fitting.size();
  }

  bool havePairs() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](const RankOfStep& rank) {
      return std::any_of(rank.jobs.begin(), rank.jobs.end(),
                         [](const Event* job) { return isPair(*job); });
    });
  }

  /// Whether the order of some rank's jobs alone says whose its backwards are.
  bool isByOrder() const {
    return std::any_of(ranks_.begin(), ranks_.end(),
                       [](const RankOfStep& rank) { return rank.isByOrder; });
  }

  void forget() {
    for (RankOfStep& rank : ranks_) {
      for (FoundPass& pass : rank.passes) pass.stage = pass.microBatch = kNotGiven;
    }
  }

  /// Gives the jobs the numbers of their passes. Returns those of the backwards of fused pairs.
  std::map<Event*, const FoundPass*> give() {
    std::map<Event*, const FoundPass*> paired;
    for (RankOfStep& rank : ranks_) {
      std::set<std::int32_t> stages;
      for (const FoundPass& pass : rank.passes) stages.insert(pass.stage);
      for (FoundPass& pass : rank.passes) {
        const auto chunk = std::distance(stages.begin(), stages.find(pass.stage));
        const auto set = [&](Event& event) {
          event.stage = pass.stage;
          event.microBatch = pass.microBatch;
          event.chunk = static_cast<std::int16_t>(chunk);
        };
        set(*pass.forward);
        for (Event* const each : pass.backwards) {
          isPair(*each) ? void(paired.try_emplace(each, &pass)) : set(*each);
        }
      }
    }
    return paired;
  }

 private:
  /// Leads forwards that send nothing to those of their own rank that get nothing.
  bool handOver(std::map<std::pair<std::size_t, std::size_t>, PassPlace>& next) {
    isContinued_.clear();
    for (std::size_t position = 0; position < size(); ++position) {
      std::vector<std::size_t> silent;
      std::vector<std::size_t> started;
      const std::vector<FoundPass>& passes = ranks_[position].passes;
      for (std::size_t i = 0; i < passes.size(); ++i) {
        if (!passes[i].sends) silent.push_back(i);
        if (!passes[i].receives) started.push_back(i);
      }
      if (position == 0 || started.empty()) continue;
      if (silent.size() < started.size()) return false;
      // Each goes on with the last one before it that sent nothing.
      for (const std::size_t i : started) {
        const auto after = std::lower_bound(silent.begin(), silent.end(), i);
        if (after == silent.begin()) return false;
        const std::size_t from = *std::prev(after);
        silent.erase(std::prev(after));
        next[{position, from}] = {position, i};
        isContinued_.insert({position, i});
      }
    }
    return true;
  }

  std::optional<Plan> planOf(const ScheduleInfo& info, int count, int chunks) const {
    const bool mayFit = !info.dependsOnCosts && info.leastChunks <= chunks &&
                        chunks <= info.mostChunks && !info.isBidirectional;
    if (!mayFit) return {};
    try {
      return buildSchedule(info.name, PlanSize{static_cast<int>(size()), count, chunks});
    } catch (const Error&) {
      return {};  // it cannot be had in that size
    }
  }

  /// Stage and micro-batch of each job.
  std::vector<std::int32_t> numbersOfJobs() const {
    std::vector<std::int32_t> numbers;
    for (const RankOfStep& rank : ranks_) {
      std::map<const Event*, const FoundPass*> passes;
      for (const FoundPass& pass : rank.passes) {
        passes[pass.forward] = &pass;
        for (const Event* const each : pass.backwards) passes[each] = &pass;
      }
      for (const Event* const job : rank.jobs) {
        const auto pass = passes.find(job);
        if (pass == passes.end()) continue;
        numbers.push_back(pass->second->stage);
        numbers.push_back(pass->second->microBatch);
      }
    }
    return numbers;
  }

  /// Whether the backwards of each stage come in the order of its forwards.
  bool isInOrder() const {
    for (const RankOfStep& rank : ranks_) {
      std::map<std::int32_t, Nanoseconds> last;  // by stage: when its latest backward began
      for (const FoundPass& pass : rank.passes) {
        if (pass.backwards.empty()) continue;
        const Nanoseconds begin = pass.backwards.front()->begin;
        const auto [known, isNew] = last.try_emplace(pass.stage, begin);
        if (!isNew && begin < known->second) return false;
        known->second = begin;
      }
    }
    return true;
  }

  /// Whether each rank gets as many messages as the stages that its jobs now have. The job of a
  /// message is not asked for, as one that is posted early may count for another.
  bool agreesWithMessages() const {
    std::size_t all = 0;
    for (const RankOfStep& rank : ranks_) all += rank.receives;
    const auto isElsewhere = [&](std::int32_t stage, std::size_t position) {
      const auto place = places_.find(stage);
      return place != places_.end() && place->second != position;
    };
    // NCCL sends both messages of a pair to one rank at once, which counts as one.
    const bool namePeers = std::any_of(ranks_.begin(), ranks_.end(),
                                       [](const RankOfStep& rank) { return rank.namesPeers; });
    if (size() == 2 && namePeers && havePairs()) return true;
    for (std::size_t position = 0; position < size() && all > 0; ++position) {
      if (!ranks_[position].isThere) continue;
      std::size_t receives = 0;
      for (const FoundPass& pass : ranks_[position].passes) {
        if (isElsewhere(pass.stage - 1, position)) ++receives;
        if (!pass.backwards.empty() && isElsewhere(pass.stage + 1, position)) ++receives;
      }
      // Some may be of a step that was cut off, or of the set-up.
      const std::size_t expected = receives * steps_;
      const std::size_t got = ranks_[position].receives;
      if ((expected > got ? expected - got : got - expected) * 10 > expected) return false;
    }
    return true;
  }

  bool isComplete() const {
    for (const RankOfStep& rank : ranks_) {
      std::map<std::int32_t, std::size_t> counts;
      for (const FoundPass& pass : rank.passes) {
        if (pass.stage == kNotGiven) return false;
        ++counts[pass.stage];
      }
      for (const auto& [stage, count] : counts) {
        if (count != counts.begin()->second) return false;
      }
    }
    return true;
  }

  static constexpr int kNothing = -1;
  /// A job as two numbers: the forward pass that it runs, and the one whose backward it runs. A
  /// fused pair runs both, others one of them.
  using JobInOrder = std::pair<int, int>;

  /// The entry of a backward in the order of a rank's jobs. `forward`: the number of its forward.
  static JobInOrder backwardOf(int forward, const RankOfStep& rank) {
    return {kNothing, rank.isByOrder ? 0 : forward};
  }

  static std::vector<JobInOrder> orderOf(const RankOfStep& rank) {
    std::map<const Event*, JobInOrder> numbers;
    for (std::size_t i = 0; i < rank.passes.size(); ++i) {
      const auto number = static_cast<int>(i);
      numbers.try_emplace(rank.passes[i].forward, kNothing, kNothing).first->second.first = number;
      if (rank.passes[i].backwards.empty()) continue;
      numbers.try_emplace(rank.passes[i].backwards.front(), kNothing, kNothing)
          .first->second.second = backwardOf(number, rank).second;
    }
    std::vector<JobInOrder> order;
    for (const Event* const job : rank.jobs) {
      const bool isBackward =
          job->kind == JobKind::kBackward || job->kind == JobKind::kBackwardInput;
      if (rank.isByOrder && isBackward) order.push_back(backwardOf(0, rank));
      if (rank.isByOrder && job->kind != JobKind::kForward) continue;
      if (const auto found = numbers.find(job); found != numbers.end()) {
        order.push_back(found->second);
      }
    }
    return order;
  }

  /// Takes the numbers of a plan whose order is that of the jobs on all ranks.
  bool take(const Plan& plan) {
    if (plan.ranks.size() != size()) return false;
    places_.clear();
    for (std::size_t position = 0; position < size(); ++position) {
      for (const Action& action : plan.ranks[position]) {
        if (isCompute(action.kind)) places_[action.stage] = position;
      }
      RankOfStep& rank = ranks_[position];
      if (!rank.isThere) continue;
      std::map<std::pair<int, int>, int> numbers;  // of stage and micro-batch
      std::vector<const Action*> forwards;
      std::vector<JobInOrder> order;
      std::set<std::pair<int, int>> begun;
      for (const Action& action : plan.ranks[position]) {
        const std::pair key(action.stage, action.microBatch);
        const bool isPaired = action.kind == JobKind::kForwardBackward;
        if (isPaired && rank.isByOrder) return false;
        if (action.kind == JobKind::kForward || isPaired) {
          numbers[key] = static_cast<int>(forwards.size());
          order.emplace_back(numbers[key], kNothing);
          forwards.push_back(&action);
        }
        if (isPaired) {
          const std::pair backward(action.backwardStage, action.backwardMicroBatch);
          if (!numbers.contains(backward) || !begun.insert(backward).second) return false;
          order.back().second = numbers[backward];
        } else if (action.kind == JobKind::kBackward || action.kind == JobKind::kBackwardInput) {
          if (!numbers.contains(key)) return false;
          if (begun.insert(key).second) order.push_back(backwardOf(numbers[key], rank));
        }
      }
      if (forwards.size() != rank.passes.size() || order != orderOf(rank)) return false;
      for (std::size_t i = 0; i < forwards.size(); ++i) {
        rank.passes[i].stage = forwards[i]->stage;
        rank.passes[i].microBatch = forwards[i]->microBatch;
      }
      if (rank.isByOrder && !pairAs(plan.ranks[position], numbers, rank)) return false;
    }
    return true;
  }

  /// Gives backwards to the passes that a plan has them for. Both have them in their order. A rank
  /// may have halves of backwards that nothing parts, as the first stage does, as one.
  static bool pairAs(const std::vector<Action>& row,
                     const std::map<std::pair<int, int>, int>& numbers, RankOfStep& rank) {
    std::map<bool, std::vector<Event*>> jobs;  // weight halves, and others
    for (Event* const job : rank.jobs) {
      if (job->kind != JobKind::kForward) {
        jobs[job->kind == JobKind::kBackwardWeight].push_back(job);
      }
    }
    for (FoundPass& pass : rank.passes) pass.backwards.clear();
    std::map<bool, std::size_t> next;
    for (const Action& action : row) {
      const bool isWeight = action.kind == JobKind::kBackwardWeight;
      if (isWeight && jobs[true].empty()) continue;
      const bool isBackward =
          isWeight || action.kind == JobKind::kBackward || action.kind == JobKind::kBackwardInput;
      if (!isBackward) continue;
      if (next[isWeight] == jobs[isWeight].size()) return false;
      Event* const job = jobs[isWeight][next[isWeight]++];
      const auto pass = static_cast<std::size_t>(numbers.at({action.stage, action.microBatch}));
      rank.passes[pass].backwards.push_back(job);
    }
    return next[true] == jobs[true].size() && next[false] == jobs[false].size();
  }

  std::vector<RankOfStep> ranks_;               // by position
  std::map<std::int32_t, std::size_t> places_;  // of the stages of the plan that was taken
  std::size_t steps_;
  std::set<std::pair<std::size_t, std::size_t>> isContinued_;
};

class FoundJobNumbers {
 public:
  FoundJobNumbers(Timeline& timeline, int threads)
      : timeline_(timeline), topology_(topologyOf(timeline, threads)) {}

  LeftOutJobs give() {
    for (const auto& [replica, ranks] : topology_.replicas()) {
      numberPipeline(ranks);
      leaveOutUnknownPairs(ranks);
    }
    giveMessages();
    return std::move(leftOut_);
  }

 private:
  struct JobRef {
    std::int32_t step = kNotGiven;
    std::size_t pass = 0;
  };

  Track* laneOf(int rank, std::string_view lane) {
    for (Track& track : timeline_.tracks) {
      if (track.rank == rank && track.lane == lane) return &track;
    }
    return nullptr;
  }

  void numberPipeline(const std::vector<int>& members) {
    if (mayLackNeighbours(members)) {
      for (const int rank : members) {
        if (Track* const lane = laneOf(rank, kComputeLane)) leaveOut(*lane);
        leftOut_.lackNeighbours.push_back(rank);
      }
      return;
    }
    std::map<std::size_t, int> rankAt;
    for (const int rank : members) {
      const int position = topology_.places.at(rank).position;
      if (position < 0 || timeline_.ranks.at(rank).jobsFound == 0) return;
      rankAt[static_cast<std::size_t>(position)] = rank;
    }
    if (rankAt.size() != members.size()) return;
    const bool isAlone = rankAt.size() < 2;
    if (isAlone && !has(rankAt.begin()->second, JobKind::kForwardBackward)) return;
    depth_ = static_cast<std::size_t>(topology_.places.at(members.front()).depth);
    for (const auto& [position, rank] : rankAt) {
      if (laneOf(rank, kComputeLane) == nullptr || position >= depth_) return;
    }
    placeOfStage_.clear();
    const bool areAllThere = depth_ == rankAt.size();
    const auto mayHoldBackwards = [&](const auto& at) {
      return timeline_.ranks.at(at.second).jobsInPairs > 0 ||
             has(at.second, JobKind::kForwardBackward);
    };
    // What pairs and graphs hold only all ranks together say.
    if (!areAllThere && std::any_of(rankAt.begin(), rankAt.end(), mayHoldBackwards)) return;
    if (areAllThere && !settlePairs(rankAt)) {
      for (const auto& [position, rank] : rankAt) leftOut_.unparted.push_back(rank);
      return;
    }
    areByOrder_.clear();
    for (const auto& [position, rank] : rankAt) {
      if (std::exchange(timeline_.ranks.at(rank).jobsByOrder, 0) > 0) areByOrder_.insert(rank);
    }
    std::set<std::int32_t> steps;
    for (const auto& [position, rank] : rankAt) {
      const Track* const lane = laneOf(rank, kComputeLane);
      if (lane == nullptr) return;
      for (const Event& event : lane->events) {
        if (isFoundJob(event)) steps.insert(event.step);
      }
    }
    bool areAll = true;
    for (const std::int32_t step : steps) {
      areAll = numberStep(rankAt, step, steps.size()) && areAll;
    }
    const bool havePairs = std::any_of(rankAt.begin(), rankAt.end(), [&](const auto& at) {
      return has(at.second, JobKind::kForwardBackward);
    });
    if (havePairs && !steps.empty()) {
      leaveOutUnknownPairs(members);
      dropMessagesOfPairs(rankAt, true);
      giveMessagesOfPipeline(rankAt);
      dropMessagesOfPairs(rankAt, false);
      return;
    }
    if (areAll) giveMessagesOfPipeline(rankAt);
    if (areAll && !areAllThere) giveStages(members);
    if (rankAt.begin()->first == 0) nameFirstWeightHalves(rankAt);
  }

  /// Gives ranks of a pipeline that lacks some the number of its stages, by the schedule that its
  /// steps follow.
  void giveStages(const std::vector<int>& members) {
    for (const int rank : members) {
      RankInfo& info = timeline_.ranks.at(rank);
      if (info.numStages || info.numChunks || placeOfStage_.size() % depth_ != 0) continue;
      info.numStages = static_cast<int>(placeOfStage_.size());
      info.numChunks = static_cast<int>(placeOfStage_.size() / depth_);
    }
  }

  /// Settles what jobs are that no message parts from their backwards. In a pipeline that trains,
  /// other ranks than the last one run forwards that no backward follows at once. Where none does,
  /// what a reader took for a forward and its backward is one forward. Else a forward of which no
  /// backward was parted holds it. Where backwards are in halves, the last stage's forward and the
  /// input half behind it stand as one job before a weight half. Then no job of the pipeline is
  /// taken. Returns whether they are settled.
  bool settlePairs(const std::map<std::size_t, int>& rankAt) {
    const auto arePairs = [&](const auto& at) {
      return timeline_.ranks.at(at.second).jobsInPairs > 0;
    };
    const auto hasHalves = [&](const auto& at) { return has(at.second, JobKind::kBackwardInput); };
    if (std::all_of(rankAt.begin(), rankAt.end(), arePairs)) {
      for (const auto& [position, rank] : rankAt) joinPairs(*laneOf(rank, kComputeLane));
      return true;
    }
    const auto holdsBackwards = [&](const auto& at) {
      return arePairs(at) && !has(at.second, JobKind::kBackward);
    };
    const auto& last = *rankAt.rbegin();
    const bool isLastUnknown = timeline_.ranks.at(last.second).jobsByOrder > 0 &&
                               !hasHalves(last) &&
                               std::any_of(rankAt.begin(), rankAt.end(), hasHalves);
    if (!isLastUnknown && std::none_of(rankAt.begin(), rankAt.end(), holdsBackwards)) return true;
    for (const auto& [position, rank] : rankAt) leaveOut(*laneOf(rank, kComputeLane));
    return false;
  }

  /// Whether jobs that name no peer may wait for ranks that have no file, in a pipeline that no
  /// group names.
  bool mayLackNeighbours(const std::vector<int>& members) const {
    return std::any_of(members.begin(), members.end(), [&](int rank) {
      const RankInfo& info = timeline_.ranks.at(rank);
      const auto world = static_cast<std::size_t>(std::max(info.worldSize.value_or(0), 0));
      return info.jobsByOrder > 0 && world > timeline_.ranks.size() && statedPipeline(info).empty();
    });
  }

  bool has(int rank, JobKind kind) {
    const Track* const lane = laneOf(rank, kComputeLane);
    return lane != nullptr && std::any_of(lane->events.begin(), lane->events.end(),
                                          [&](const Event& event) { return event.kind == kind; });
  }

  void joinPairs(Track& lane) {
    RankInfo& info = timeline_.ranks.at(lane.rank);
    Event* forward = nullptr;
    for (Event& event : lane.events) {
      if (event.kind == JobKind::kForward) forward = &event;
      if (event.kind == JobKind::kBackward && forward != nullptr) forward->end = event.end;
    }
    info.jobsFound -= static_cast<std::int64_t>(std::erase_if(
        lane.events, [](const Event& event) { return event.kind == JobKind::kBackward; }));
    info.jobsInPairs = 0;
  }

  /// Takes the jobs of a rank away again.
  void leaveOut(Track& lane) {
    RankInfo& info = timeline_.ranks.at(lane.rank);
    std::erase_if(lane.events, [&](const Event& event) {
      if (!isCompute(event.kind)) return false;
      ++info.runsUnplaced;
      info.unplacedTime += event.duration();
      return true;
    });
    info.jobsFound = info.jobsInPairs = info.jobsByOrder = 0;
  }

  /// Where backwards are in halves, that of the first stage is a weight half: it has no gradient to
  /// send on.
  void nameFirstWeightHalves(const std::map<std::size_t, int>& rankAt) {
    bool areHalves = false;
    for (const auto& [position, rank] : rankAt) {
      for (const Event& event : laneOf(rank, kComputeLane)->events) {
        areHalves = areHalves || event.kind == JobKind::kBackwardInput;
      }
    }
    if (!areHalves) return;
    std::vector<Event>& jobs = laneOf(rankAt.begin()->second, kComputeLane)->events;
    const bool hasStages =
        std::any_of(jobs.begin(), jobs.end(), [](const Event& event) { return event.stage > 0; });
    for (Event& event : jobs) {
      const bool isFirst = hasStages ? event.stage == 0 : event.stage == kNotGiven;
      if (isFirst && event.kind == JobKind::kBackward) event.kind = JobKind::kBackwardWeight;
    }
  }

  /// The micro-batch of a found pair's backward, as those of forwards count.
  std::int32_t pairedMicroBatch(const Event& pair) const {
    for (const Argument& argument : timeline_.argumentsOf(pair)) {
      if (timeline_.strings[argument.key] == kPairedMicroBatch)
        return static_cast<std::int32_t>(argument.integer);
    }
    return kNotGiven;
  }

  /// Gives fused pairs, whose forwards have their numbers, an action that names both halves.
  void nameActions(const std::map<Event*, const FoundPass*>& backwards) {
    for (const auto& [pair, backward] : backwards) {
      std::vector<Argument> arguments;
      for (const Argument& argument : timeline_.argumentsOf(*pair)) {
        if (timeline_.strings[argument.key] != kPairedMicroBatch) arguments.push_back(argument);
      }
      const std::string action =
          toText(Action{JobKind::kForwardBackward, pair->stage, pair->microBatch, backward->stage,
                        backward->microBatch});
      arguments.push_back(Argument::ofText(timeline_.strings.intern(log_format::kAction),
                                           timeline_.strings.intern(action)));
      timeline_.setArguments(*pair, arguments);
    }
  }

  /// Takes away the jobs of steps whose fused pairs have no stages: with these no figure is right.
  void leaveOutUnknownPairs(const std::vector<int>& members) {
    std::set<std::int32_t> steps;
    for (const int rank : members) {
      const Track* const lane = laneOf(rank, kComputeLane);
      if (lane == nullptr || timeline_.ranks.at(rank).jobsFound == 0) continue;
      for (const Event& event : lane->events) {
        if (isFoundJob(event) && isPair(event)) steps.insert(event.step);
      }
    }
    if (steps.empty()) return;
    for (const int rank : members) {
      RankInfo& info = timeline_.ranks.at(rank);
      const std::int64_t before = leftOut_.jobsInTurns;
      for (const std::string_view name : {kComputeLane, kSendLane, kRecvLane}) {
        Track* const lane = laneOf(rank, name);
        if (lane == nullptr || info.jobsFound == 0) continue;
        std::erase_if(lane->events, [&](const Event& event) {
          if (!steps.contains(event.step) || event.stage != kNotGiven) return false;
          if (name != kComputeLane) return true;
          if (!isFoundJob(event)) return false;
          ++info.runsUnplaced;
          info.unplacedTime += event.duration();
          ++leftOut_.jobsInTurns;
          return true;
        });
      }
      info.jobsFound -= leftOut_.jobsInTurns - before;
      if (leftOut_.jobsInTurns > before) leftOut_.takeTurns.push_back(rank);
    }
  }

  /// Takes the jobs away from messages of fused pairs, as it is not known which half theirs is, or
  /// drops the messages that have none then.
  void dropMessagesOfPairs(const std::map<std::size_t, int>& rankAt, bool areToBeGiven) {
    for (const auto& [position, rank] : rankAt) {
      std::set<std::int64_t> pairs;
      for (const Event& event : laneOf(rank, kComputeLane)->events) {
        if (isPair(event)) pairs.insert(event.job);
      }
      for (const std::string_view name : {kSendLane, kRecvLane}) {
        Track* const lane = laneOf(rank, name);
        if (lane == nullptr) continue;
        if (!areToBeGiven) {
          std::erase_if(lane->events, [](const Event& e) { return e.kind == JobKind::kOther; });
          continue;
        }
        for (Event& event : lane->events) {
          if (!pairs.contains(event.job)) continue;
          event.kind = JobKind::kOther;
          event.job = event.microBatch = kNotGiven;
        }
      }
    }
  }

  RankOfStep rankStep(int rank, std::int32_t step) {
    RankOfStep result;
    result.isThere = true;
    result.isByOrder = areByOrder_.contains(rank);
    std::map<std::int32_t, std::size_t> passes;  // by the micro-batch that its order gives
    for (Event& event : laneOf(rank, kComputeLane)->events) {
      if (!isFoundJob(event) || event.step != step) continue;
      result.jobs.push_back(&event);
      if (!runsForward(event)) continue;
      passes[event.microBatch] = result.passes.size();
      result.passes.push_back({.forward = &event, .backwards = {}});
    }
    for (Event* const event : result.jobs) {
      if (event->kind == JobKind::kForward) continue;
      const auto pass = passes.find(isPair(*event) ? pairedMicroBatch(*event) : event->microBatch);
      if (pass != passes.end()) result.passes[pass->second].backwards.push_back(event);
      result.hasLostPairs = result.hasLostPairs || (isPair(*event) && pass == passes.end());
    }
    return result;
  }

  /// Returns whether its jobs have stages now.
  bool numberStep(const std::map<std::size_t, int>& rankAt, std::int32_t step, std::size_t steps) {
    std::vector<RankOfStep> ranks(depth_);
    for (const auto& [position, rank] : rankAt) ranks[position] = rankStep(rank, step);
    const std::size_t forwards = ranks[rankAt.begin()->first].passes.size();
    const bool areEqual = std::all_of(ranks.begin(), ranks.end(), [&](const RankOfStep& rank) {
      return !rank.isThere || (rank.passes.size() == forwards && !rank.hasLostPairs);
    });
    if (!areEqual || forwards == 0) return false;  // a step that was cut off
    StepOfPipeline pipeline(std::move(ranks), steps);
    StepOfPipeline::Links sends;
    StepOfPipeline::Links receives;
    for (const auto& [position, rank] : rankAt) {
      addMessages(rankAt, position, pipeline, sends, receives);
    }
    // A fused pair has messages of both directions, which do not say whose they are.
    if (rankAt.size() == depth_ && !pipeline.havePairs() &&
        pipeline.followMessages(sends, receives)) {
      pipeline.give();
      return true;
    }
    const std::size_t fitting = pipeline.followSchedule();
    if (pipeline.havePairs()) {
      if (fitting != 1) return false;
      nameActions(pipeline.give());
      return true;
    }
    if (fitting != 1) {
      for (const auto& [position, rank] : rankAt) {
        timeline_.ranks.at(rank).jobsByOrder +=
            static_cast<std::int64_t>(pipeline.rank(position).jobs.size());
      }
    }
    if (fitting == 0) return false;
    placeOfStage_ = pipeline.places();
    pipeline.give();
    return true;
  }

  /// A job, or a half of a fused pair, that passes its result on forward or backward.
  struct Half {
    const Event* job = nullptr;
    bool isForward = true;
    std::int32_t stage = kNotGiven;
    std::int32_t microBatch = kNotGiven;
  };

  /// The halves of a job that have messages.
  std::vector<Half> halvesOf(const Event& job) const {
    if (job.stage == kNotGiven) return {};
    if (const auto pair = fusedPairOf(timeline_, job)) {
      return {{&job, true, pair->forwardStage, pair->forwardMicroBatch},
              {&job, false, pair->backwardStage, pair->backwardMicroBatch}};
    }
    const auto isForward = directionOf(job.kind);
    if (!isForward) return {};
    return {{&job, *isForward, job.stage, job.microBatch}};
  }

  /// A message as two numbered jobs say that it must have been.
  struct DueMessage {
    Half from;  // without a job where the rank has no file; so has `to`
    Half to;
    int source = 0;  // ranks
    int target = 0;
  };

  /// The rank of a stage by the plan, where it has no file.
  std::optional<int> missingRankOf(std::int32_t stage, const std::vector<int>& pipeline) const {
    const auto place = placeOfStage_.find(stage);
    if (place == placeOfStage_.end() || place->second >= pipeline.size()) return std::nullopt;
    const int rank = pipeline[place->second];
    return timeline_.ranks.contains(rank) ? std::nullopt : std::optional(rank);
  }

  /// Gives messages their jobs, where there are as many as the numbered jobs must have. The k-th
  /// message from one rank to another is that of the k-th job there that sends to it. Where
  /// messages do not name the other rank, a rank's receives are in the order of their use, and so
  /// are those from a rank that has no file.
  void giveMessagesOfPipeline(const std::map<std::size_t, int>& rankAt) {
    std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t, bool>, Half> jobs;
    std::map<const Event*, int> rankOf;
    std::map<std::int32_t, int> rankOfStage;
    std::map<std::int32_t, std::int16_t> chunkOf;  // by stage
    std::vector<Half> inOrder;
    for (const auto& [position, rank] : rankAt) {
      for (const Event& event : laneOf(rank, kComputeLane)->events) {
        for (const Half& half : halvesOf(event)) {
          jobs[{event.step, half.stage, half.microBatch, half.isForward}] = half;
          rankOf[&event] = rank;
          rankOfStage[half.stage] = rank;
          if (half.stage == event.stage) chunkOf[half.stage] = event.chunk;
          inOrder.push_back(half);
        }
      }
    }
    const std::vector<int> pipeline = statedPipeline(timeline_.ranks.at(rankAt.begin()->second));
    const bool areAllThere = rankAt.size() == depth_;
    std::map<int, std::vector<DueMessage>> sends;  // by rank, in the order of its jobs
    std::map<int, std::vector<DueMessage>> ofMissing;
    for (const Half& half : inOrder) {
      const int rank = rankOf[half.job];
      const int onward = half.isForward ? 1 : -1;
      const std::int32_t next = half.stage + onward;
      const auto place = rankOfStage.find(next);
      if (!areAllThere) {
        const auto target = missingRankOf(next, pipeline);
        if (target) sends[rank].push_back({half, {}, rank, *target});
        const auto source = missingRankOf(half.stage - onward, pipeline);
        if (source) ofMissing[rank].push_back({{}, half, *source, rank});
      }
      if (place == rankOfStage.end() || place->second == rank) continue;
      const auto to = jobs.find({half.job->step, next, half.microBatch, half.isForward});
      if (to != jobs.end()) sends[rank].push_back({half, to->second, rank, place->second});
    }
    std::map<int, std::vector<DueMessage>> receives = std::move(ofMissing);
    for (const auto& [rank, list] : sends) {
      for (const DueMessage& due : list) {
        if (due.to.job != nullptr) receives[due.target].push_back(due);
      }
    }
    for (auto& [rank, list] : receives) {
      const Track* const lane = laneOf(rank, kRecvLane);
      const bool namesPeers =
          lane != nullptr && !lane->events.empty() && lane->events.front().peer != kNotGiven;
      // Those of one rank are in the order in which it sends.
      if (!namesPeers && (rankAt.size() > 2 || !areAllThere)) {
        std::stable_sort(list.begin(), list.end(), [](const DueMessage& a, const DueMessage& b) {
          return std::pair(a.to.job->begin, !a.to.isForward) <
                 std::pair(b.to.job->begin, !b.to.isForward);
        });
      }
      giveLane(rank, kRecvLane, list, chunkOf, namesPeers);
    }
    for (const auto& [rank, list] : sends) {
      const Track* const lane = laneOf(rank, kSendLane);
      const bool namesPeers =
          lane != nullptr && !lane->events.empty() && lane->events.front().peer != kNotGiven;
      giveLane(rank, kSendLane, list, chunkOf, namesPeers);
    }
  }

  /// Whether a job passes its result on forward; nothing for jobs without messages.
  static std::optional<bool> directionOf(JobKind kind) {
    if (kind == JobKind::kForward) return true;
    if (kind == JobKind::kBackward || kind == JobKind::kBackwardInput) return false;
    return std::nullopt;
  }

  void giveLane(int rank, std::string_view name, const std::vector<DueMessage>& list,
                const std::map<std::int32_t, std::int16_t>& chunkOf, bool namesPeers) {
    Track* const lane = laneOf(rank, name);
    if (lane == nullptr) return;
    const bool isSend = name == kSendLane;
    std::map<int, std::vector<Event*>> events;  // by peer
    std::map<int, std::vector<DueMessage>> due;
    for (Event& event : lane->events) {
      events[namesPeers ? event.peer : 0].push_back(&event);
    }
    for (const DueMessage& each : list) {
      due[namesPeers ? (isSend ? each.target : each.source) : 0].push_back(each);
    }
    for (auto& [peer, messages] : events) {
      const std::vector<DueMessage>& of = due[peer];
      if (messages.size() != of.size()) continue;
      for (std::size_t i = 0; i < of.size(); ++i) {
        const Half& half = isSend ? of[i].from : of[i].to;
        Event& message = *messages[i];
        message.kind = transferKind(isSend, half.isForward);
        message.job = half.job->job;
        message.step = half.job->step;
        message.stage = half.stage;
        const auto chunk = chunkOf.find(half.stage);
        message.chunk = chunk == chunkOf.end() ? std::int16_t{kNotGiven} : chunk->second;
        message.microBatch = half.microBatch;
      }
    }
  }

  void addMessages(const std::map<std::size_t, int>& rankAt, std::size_t position,
                   StepOfPipeline& pipeline, StepOfPipeline::Links& sends,
                   StepOfPipeline::Links& receives) {
    std::map<std::int64_t, std::size_t> passes;  // by the number of the job
    RankOfStep& rank = pipeline.rank(position);
    for (std::size_t i = 0; i < rank.passes.size(); ++i) passes[rank.passes[i].forward->job] = i;
    const std::size_t size = pipeline.size();
    for (const std::string_view lane : {kSendLane, kRecvLane}) {
      const Track* const track = laneOf(rankAt.at(position), lane);
      if (track == nullptr) continue;
      const bool isSend = lane == kSendLane;
      for (const Event& event : track->events) {
        if (!isSend) ++rank.receives;  // also those of which no kind is known yet
        rank.namesPeers = rank.namesPeers || event.peer != kNotGiven;
        const auto pass = passes.find(event.job);
        if (pass == passes.end() || !isForwardTransfer(event.kind)) continue;
        std::size_t other = (position + (isSend ? 1 : size - 1)) % size;
        if (event.peer != kNotGiven) {
          const auto peer = std::find_if(rankAt.begin(), rankAt.end(), [&](const auto& each) {
            return each.second == event.peer;
          });
          if (peer == rankAt.end()) continue;
          other = peer->first;
        }
        (isSend ? rank.passes[pass->second].sends : rank.passes[pass->second].receives) = true;
        const std::pair link = isSend ? std::pair(position, other) : std::pair(other, position);
        (isSend ? sends : receives)[link].push_back({position, pass->second});
      }
    }
  }

  /// Gives messages the numbers of their jobs.
  void giveMessages() {
    for (Track& track : timeline_.tracks) {
      if (track.lane != kSendLane && track.lane != kRecvLane) continue;
      const Track* const lane = laneOf(track.rank, kComputeLane);
      if (lane == nullptr || timeline_.ranks.at(track.rank).jobsFound == 0) continue;
      std::map<std::int64_t, const Event*> jobs;
      for (const Event& event : lane->events) jobs[event.job] = &event;
      for (Event& event : track.events) {
        const auto job = jobs.find(event.job);
        if (job == jobs.end() || event.job == kNotGiven || event.stage != kNotGiven) continue;
        event.stage = job->second->stage;
        event.chunk = job->second->chunk;
        event.microBatch = job->second->microBatch;
      }
    }
  }

  Timeline& timeline_;
  Topology topology_;
  std::size_t depth_ = 0;                             // ranks of the pipeline
  std::map<std::int32_t, std::size_t> placeOfStage_;  // by the schedule that its steps follow
  std::set<int> areByOrder_;                          // ranks of the pipeline
  LeftOutJobs leftOut_;
};

}  // namespace

LeftOutJobs numberFoundJobs(Timeline& timeline, int threads) {
  const bool areAny = std::any_of(timeline.ranks.begin(), timeline.ranks.end(),
                                  [](const auto& each) { return each.second.jobsFound > 0; });
  return areAny ? FoundJobNumbers(timeline, threads).give() : LeftOutJobs();
}

}  // namespace pipetrace
