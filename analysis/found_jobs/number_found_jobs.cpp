#include "analysis/found_jobs/number_found_jobs.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "schedule/build_schedule.h"
#include "trace/error.h"
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

/// A rank in one step.
struct RankOfStep {
  std::vector<FoundPass> passes;  // by their order
  std::vector<Event*> jobs;       // all found compute jobs
  bool isByOrder = false;         // only their order says whose backwards are whose
  std::size_t receives = 0;       // messages that it gets in all steps, of both directions
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
    const auto forwards = static_cast<int>(ranks_[0].passes.size());
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

  /// Gives the jobs the numbers of their passes.
  void give() {
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
        for (Event* const each : pass.backwards) set(*each);
      }
    }
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
    std::map<std::int32_t, std::size_t> places;  // of stages
    std::size_t all = 0;
    for (std::size_t position = 0; position < size(); ++position) {
      for (const FoundPass& pass : ranks_[position].passes) places[pass.stage] = position;
      all += ranks_[position].receives;
    }
    const auto isElsewhere = [&](std::int32_t stage, std::size_t position) {
      const auto place = places.find(stage);
      return place != places.end() && place->second != position;
    };
    for (std::size_t position = 0; position < size() && all > 0; ++position) {
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

  /// The entry of a backward in the order of a rank's jobs. `forward`: the number of its forward.
  static int backwardOf(int forward, const RankOfStep& rank) {
    return rank.isByOrder ? -1 : -1 - forward;
  }

  /// The order of a rank's jobs: for each the number of its forward, below 0 for a backward.
  static std::vector<int> orderOf(const RankOfStep& rank) {
    std::map<const Event*, int> numbers;
    for (std::size_t i = 0; i < rank.passes.size(); ++i) {
      const auto number = static_cast<int>(i);
      numbers[rank.passes[i].forward] = number;
      if (!rank.passes[i].backwards.empty())
        numbers[rank.passes[i].backwards.front()] = backwardOf(number, rank);
    }
    std::vector<int> order;
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
    for (std::size_t position = 0; position < size(); ++position) {
      RankOfStep& rank = ranks_[position];
      std::map<std::pair<int, int>, int> numbers;  // of stage and micro-batch
      std::vector<const Action*> forwards;
      std::vector<int> order;
      std::set<std::pair<int, int>> begun;
      for (const Action& action : plan.ranks[position]) {
        const std::pair key(action.stage, action.microBatch);
        if (action.kind == JobKind::kForward) {
          numbers[key] = static_cast<int>(forwards.size());
          order.push_back(numbers[key]);
          forwards.push_back(&action);
        } else if (action.kind == JobKind::kBackward || action.kind == JobKind::kBackwardInput) {
          if (!numbers.contains(key)) return false;
          if (begun.insert(key).second) order.push_back(backwardOf(numbers[key], rank));
        } else if (action.kind == JobKind::kForwardBackward) {
          return false;
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

  std::vector<RankOfStep> ranks_;  // by position
  std::size_t steps_;
  std::set<std::pair<std::size_t, std::size_t>> isContinued_;
};

class FoundJobNumbers {
 public:
  FoundJobNumbers(Timeline& timeline, int threads)
      : timeline_(timeline), topology_(topologyOf(timeline, threads)) {}

  LeftOutJobs give() {
    for (const auto& [replica, ranks] : topology_.replicas()) numberPipeline(ranks);
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
    if (rankAt.size() != members.size() || rankAt.size() < 2) return;
    const int depth = topology_.places.at(members.front()).depth;
    if (static_cast<std::size_t>(depth) != rankAt.size()) return;  // a rank has no file
    for (const auto& [position, rank] : rankAt) {
      if (laneOf(rank, kComputeLane) == nullptr) return;
    }
    if (!settlePairs(rankAt)) {
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
    if (areAll) giveMessagesOfPipeline(rankAt);
    nameFirstWeightHalves(rankAt);
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

  RankOfStep rankStep(int rank, std::int32_t step) {
    RankOfStep result;
    result.isByOrder = areByOrder_.contains(rank);
    std::map<std::int32_t, std::size_t> passes;  // by the micro-batch that its order gives
    for (Event& event : laneOf(rank, kComputeLane)->events) {
      if (!isFoundJob(event) || event.step != step) continue;
      result.jobs.push_back(&event);
      if (event.kind != JobKind::kForward) continue;
      passes[event.microBatch] = result.passes.size();
      result.passes.push_back({.forward = &event, .backwards = {}});
    }
    for (Event* const event : result.jobs) {
      const auto pass = passes.find(event->microBatch);
      if (event->kind != JobKind::kForward && pass != passes.end()) {
        result.passes[pass->second].backwards.push_back(event);
      }
    }
    return result;
  }

  /// Returns whether its jobs have stages now.
  bool numberStep(const std::map<std::size_t, int>& rankAt, std::int32_t step, std::size_t steps) {
    std::vector<RankOfStep> ranks;
    for (const auto& [position, rank] : rankAt) ranks.push_back(rankStep(rank, step));
    const std::size_t forwards = ranks.front().passes.size();
    const bool areEqual = std::all_of(ranks.begin(), ranks.end(), [&](const RankOfStep& rank) {
      return rank.passes.size() == forwards;
    });
    if (!areEqual || forwards == 0) return false;  // a step that was cut off
    StepOfPipeline pipeline(std::move(ranks), steps);
    StepOfPipeline::Links sends;
    StepOfPipeline::Links receives;
    for (std::size_t position = 0; position < pipeline.size(); ++position) {
      addMessages(rankAt, position, pipeline, sends, receives);
    }
    if (pipeline.followMessages(sends, receives)) {
      pipeline.give();
      return true;
    }
    const std::size_t fitting = pipeline.followSchedule();
    if (fitting != 1) {
      for (std::size_t position = 0; position < pipeline.size(); ++position) {
        timeline_.ranks.at(rankAt.at(position)).jobsByOrder +=
            static_cast<std::int64_t>(pipeline.rank(position).jobs.size());
      }
    }
    if (fitting == 0) return false;
    pipeline.give();
    return true;
  }

  /// A message as two numbered jobs say that it must have been.
  struct DueMessage {
    const Event* from = nullptr;
    const Event* to = nullptr;
  };

  /// Gives messages their jobs, where there are as many as the numbered jobs must have. The k-th
  /// message from one rank to another is that of the k-th job there that sends to it. Where
  /// messages do not name the other rank, a rank's receives are in the order of their use.
  void giveMessagesOfPipeline(const std::map<std::size_t, int>& rankAt) {
    std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t, bool>, const Event*> jobs;
    std::map<const Event*, int> rankOf;
    std::map<std::int32_t, int> rankOfStage;
    std::vector<const Event*> inOrder;
    for (const auto& [position, rank] : rankAt) {
      for (const Event& event : laneOf(rank, kComputeLane)->events) {
        const auto isForward = directionOf(event.kind);
        if (!isForward || event.stage == kNotGiven) continue;
        jobs[{event.step, event.stage, event.microBatch, *isForward}] = &event;
        rankOf[&event] = rank;
        rankOfStage[event.stage] = rank;
        inOrder.push_back(&event);
      }
    }
    std::map<int, std::vector<DueMessage>> sends;  // by rank, in the order of its jobs
    for (const Event* const job : inOrder) {
      const bool isForward = *directionOf(job->kind);
      const std::int32_t next = job->stage + (isForward ? 1 : -1);
      const auto place = rankOfStage.find(next);
      if (place == rankOfStage.end() || place->second == rankOf[job]) continue;
      const auto to = jobs.find({job->step, next, job->microBatch, isForward});
      if (to != jobs.end()) sends[rankOf[job]].push_back({job, to->second});
    }
    std::map<int, std::vector<DueMessage>> receives;
    for (const auto& [rank, list] : sends) {
      for (const DueMessage& due : list) receives[rankOf[due.to]].push_back(due);
    }
    for (auto& [rank, list] : receives) {
      const Track* const lane = laneOf(rank, kRecvLane);
      const bool namesPeers =
          lane != nullptr && !lane->events.empty() && lane->events.front().peer != kNotGiven;
      // Those of one rank are in the order in which it sends.
      if (!namesPeers && rankAt.size() > 2) {
        std::stable_sort(list.begin(), list.end(), [](const DueMessage& a, const DueMessage& b) {
          return a.to->begin < b.to->begin;
        });
      }
      giveLane(rank, kRecvLane, list, rankOf, namesPeers);
    }
    for (const auto& [rank, list] : sends) {
      const Track* const lane = laneOf(rank, kSendLane);
      const bool namesPeers =
          lane != nullptr && !lane->events.empty() && lane->events.front().peer != kNotGiven;
      giveLane(rank, kSendLane, list, rankOf, namesPeers);
    }
  }

  /// Whether a job passes its result on forward; nothing for jobs without messages.
  static std::optional<bool> directionOf(JobKind kind) {
    if (kind == JobKind::kForward) return true;
    if (kind == JobKind::kBackward || kind == JobKind::kBackwardInput) return false;
    return std::nullopt;
  }

  void giveLane(int rank, std::string_view name, const std::vector<DueMessage>& list,
                std::map<const Event*, int>& rankOf, bool namesPeers) {
    Track* const lane = laneOf(rank, name);
    if (lane == nullptr) return;
    const bool isSend = name == kSendLane;
    std::map<int, std::vector<Event*>> events;  // by peer
    std::map<int, std::vector<DueMessage>> due;
    for (Event& event : lane->events) {
      events[namesPeers ? event.peer : 0].push_back(&event);
    }
    for (const DueMessage& each : list) {
      due[namesPeers ? rankOf[isSend ? each.to : each.from] : 0].push_back(each);
    }
    for (auto& [peer, messages] : events) {
      const std::vector<DueMessage>& of = due[peer];
      if (messages.size() != of.size()) continue;
      for (std::size_t i = 0; i < of.size(); ++i) {
        const Event& job = isSend ? *of[i].from : *of[i].to;
        Event& message = *messages[i];
        message.kind = transferKind(isSend, job.kind == JobKind::kForward);
        message.job = job.job;
        message.step = job.step;
        message.stage = job.stage;
        message.chunk = job.chunk;
        message.microBatch = job.microBatch;
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
  std::set<int> areByOrder_;  // ranks of the pipeline
  LeftOutJobs leftOut_;
};

}  // namespace

LeftOutJobs numberFoundJobs(Timeline& timeline, int threads) {
  const bool areAny = std::any_of(timeline.ranks.begin(), timeline.ranks.end(),
                                  [](const auto& each) { return each.second.jobsFound > 0; });
  return areAny ? FoundJobNumbers(timeline, threads).give() : LeftOutJobs();
}

}  // namespace pipetrace
