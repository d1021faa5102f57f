#include "analysis/run/plans/measured_plan.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run/steps/rank_jobs.h"
#include "schedule/file/infer_placement.h"
#include "schedule/file/schedule_cell.h"
#include "trace/log/log_format.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

using StageRanks = std::vector<std::vector<int>>;

/// By rank: the stage of its actions. Nothing where a rank has no actions, or those of several
/// stages.
std::optional<StageRanks> ranksWithOneStage(const Plan& plan) {
  StageRanks ranks(static_cast<std::size_t>(plan.numStages));
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    const std::vector<Action>& row = plan.ranks[static_cast<std::size_t>(rank)];
    const auto isOther = [&](const Action& action) {
      const bool isPair = action.kind == JobKind::kForwardBackward;
      return action.stage != row.front().stage || (isPair && action.backwardStage != action.stage);
    };
    if (row.empty() || std::any_of(row.begin(), row.end(), isOther)) return std::nullopt;
    ranks[static_cast<std::size_t>(row.front().stage)].push_back(rank);
  }
  return ranks;
}

/// Whose turn a rank has most often, of `turns`.
std::size_t turnOf(const std::vector<Action>& row, std::size_t turns) {
  std::vector<std::int64_t> counts(turns);
  for (const Action& action : row) ++counts[static_cast<std::size_t>(action.microBatch) % turns];
  return static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
}

/// Puts the ranks of a stage in the order of their turns; false: two have the same.
bool putInTurns(const Plan& plan, std::vector<int>& ranks) {
  std::vector<int> ordered(ranks.size(), -1);
  for (const int rank : ranks) {
    int& place = ordered[turnOf(plan.ranks[static_cast<std::size_t>(rank)], ranks.size())];
    if (std::exchange(place, rank) >= 0) return false;
  }
  ranks = std::move(ordered);
  return true;
}

/// How often the passes of a stage and a micro-batch are there.
struct PassCounts {
  int forward = 0;
  int whole = 0;
  int input = 0;
  int weight = 0;

  int backward() const { return whole + input; }
};

class WorkCheck {
 public:
  explicit WorkCheck(const MeasuredPlan& measured)
      : measured_(measured), plan_(measured.plan), isForwardOnly_(plan_.isForwardOnly()) {}

  std::string run() {
    std::size_t actions = 0;
    for (const auto& row : plan_.ranks) actions += row.size();
    const auto places =
        static_cast<std::size_t>(plan_.numStages) * static_cast<std::size_t>(plan_.numMicroBatches);
    if (places / 4 > actions) {
      return plan_.name + " lacks most of its work: " + std::to_string(plan_.numMicroBatches) +
             " micro-batches on " + std::to_string(plan_.numStages) + " stages have only " +
             std::to_string(actions) + " jobs";
    }
    passes_.resize(places);
    for (int rank = 0; rank < plan_.numRanks(); ++rank) {
      for (const Action& action : plan_.ranks[static_cast<std::size_t>(rank)]) add(rank, action);
    }
    for (int stage = 0; stage < plan_.numStages; ++stage) {
      for (int m = 0; m < plan_.numMicroBatches; ++m) findMissing(stage, m);
    }
    if (!missing_.empty()) return plan_.name + " lacks " + missing_ + othersText(missingCount_);
    if (!early_.empty()) {
      return plan_.name + " has " + early_ + othersText(earlyCount_) +
             "; its steps run into each other";
    }
    if (!twice_.empty()) return plan_.name + " has " + twice_ + " twice" + othersText(twiceCount_);
    return "";
  }

 private:
  static std::string othersText(std::int64_t count) {
    if (count < 2) return "";
    return ", and " + std::to_string(count - 1) + " more";
  }

  PassCounts& at(int stage, int microBatch) {
    return passes_[static_cast<std::size_t>(stage) *
                       static_cast<std::size_t>(plan_.numMicroBatches) +
                   static_cast<std::size_t>(microBatch)];
  }

  std::string textOf(const char* pass, int stage, int microBatch) const {
    const auto number = measured_.microBatchNumbers[static_cast<std::size_t>(microBatch)];
    return "the " + std::string(pass) + " of micro-batch " + std::to_string(number) + " on stage " +
           std::to_string(stage);
  }

  static void note(const std::string& what, std::string& first, std::int64_t& count) {
    if (count++ == 0) first = what;
  }

  void count(int& passes, const char* pass, int stage, int microBatch) {
    if (++passes == 2) note(textOf(pass, stage, microBatch), twice_, twiceCount_);
  }

  void add(int rank, const Action& action) {
    PassCounts& passes = at(action.stage, action.microBatch);
    switch (action.kind) {
      case JobKind::kForward:
        count(passes.forward, "forward pass", action.stage, action.microBatch);
        break;
      case JobKind::kBackward: addBackward(rank, action.stage, action.microBatch); break;
      case JobKind::kBackwardInput:
        count(passes.input, "input half", action.stage, action.microBatch);
        checkOrder(rank, action.stage, action.microBatch);
        break;
      case JobKind::kBackwardWeight:
        count(passes.weight, "weight half", action.stage, action.microBatch);
        break;
      default:
        count(passes.forward, "forward pass", action.stage, action.microBatch);
        addBackward(rank, action.backwardStage, action.backwardMicroBatch);
    }
  }

  void addBackward(int rank, int stage, int microBatch) {
    count(at(stage, microBatch).whole, "backward pass", stage, microBatch);
    checkOrder(rank, stage, microBatch);
  }

  void checkOrder(int rank, int stage, int microBatch) {
    if (at(stage, microBatch).forward > 0) return;
    note(textOf("backward pass", stage, microBatch) + " before the forward pass on rank " +
             std::to_string(measured_.rankNumbers[static_cast<std::size_t>(rank)]),
         early_, earlyCount_);
  }

  void findMissing(int stage, int microBatch) {
    // Where a stage is on several ranks, another one may have a log.
    const int rank = plan_.rankOf(stage, microBatch);
    if (rank < 0 || measured_.rankNumbers[static_cast<std::size_t>(rank)] < 0) return;
    const PassCounts& passes = at(stage, microBatch);
    const auto lacks = [&](const char* pass) {
      note(textOf(pass, stage, microBatch), missing_, missingCount_);
    };
    if (passes.forward == 0) lacks("forward pass");
    if (passes.input > passes.weight) lacks("weight half");
    // The first stage has no gradient to send on, and may have no input half.
    const bool isWeightHalfEnough = stage == 0 && passes.weight > 0;
    if (passes.backward() > 0 || isWeightHalfEnough || isForwardOnly_) return;
    lacks("backward pass");
  }

  const MeasuredPlan& measured_;
  const Plan& plan_;
  bool isForwardOnly_;
  std::vector<PassCounts> passes_;
  // The first of each, and how many there are.
  std::string missing_;
  std::string early_;
  std::string twice_;
  std::int64_t missingCount_ = 0;
  std::int64_t earlyCount_ = 0;
  std::int64_t twiceCount_ = 0;
};

/// One sentence about the work of a measured plan that cannot be right. It names passes that are
/// not there or stand twice, or a backward pass before its forward pass. Empty if every stage of a
/// rank with a log has each of its passes once. Linear in the plan.
std::string missingWork(const MeasuredPlan& measured) { return WorkCheck(measured).run(); }

/// Whether rank r has the stages r and p + r, and no other.
bool isLoopedTwice(const Plan& plan) {
  const int ranks = plan.numRanks();
  if (ranks < 2 || plan.numStages != 2 * ranks) return false;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto isOwn = [&](int stage) { return stage < 0 || stage % ranks == rank; };
    const auto& row = plan.ranks[static_cast<std::size_t>(rank)];
    const bool fits = std::all_of(row.begin(), row.end(), [&](const Action& action) {
      return isOwn(action.stage) && isOwn(action.backwardStage);
    });
    if (!fits || row.empty()) return false;
  }
  return true;
}

/// By micro-batch: the forward of a rank's second stage; null where there is none.
std::vector<const Event*> secondForwards(const MeasuredPlan& measured, std::size_t rank) {
  const Plan& plan = measured.plan;
  std::vector<const Event*> forwards(static_cast<std::size_t>(plan.numMicroBatches), nullptr);
  for (std::size_t i = 0; i < plan.ranks[rank].size(); ++i) {
    const Action& action = plan.ranks[rank][i];
    const bool isForward =
        action.kind == JobKind::kForward || action.kind == JobKind::kForwardBackward;
    if (!isForward || action.stage < plan.numRanks()) continue;
    forwards[static_cast<std::size_t>(action.microBatch)] = measured.jobs[rank][i];
  }
  return forwards;
}

/// Whether micro-batches come to the second stages from the last rank to the first. A few that do
/// not may come from clocks that differ.
bool runsBack(const MeasuredPlan& measured) {
  std::int64_t pairs = 0;
  std::int64_t there = 0;  // the earlier rank was through first, as it must be in a looped plan
  std::int64_t back = 0;
  std::vector<const Event*> earlier = secondForwards(measured, 0);
  for (std::size_t rank = 1; rank < measured.plan.ranks.size(); ++rank) {
    std::vector<const Event*> later = secondForwards(measured, rank);
    for (std::size_t m = 0; m < later.size(); ++m) {
      if (earlier[m] == nullptr || later[m] == nullptr) continue;
      ++pairs;
      there += earlier[m]->end <= later[m]->begin ? 1 : 0;
      back += later[m]->end <= earlier[m]->begin ? 1 : 0;
    }
    earlier = std::move(later);
  }
  return pairs > 0 && 10 * back >= 9 * pairs && 10 * there <= pairs;
}

/// Renumbers the second stages of ranks that have two where the pipeline runs back through them, as
/// the times show. Then stages s and 2 p - 1 - s are on rank s. Logs that name chunks and no
/// stages are read as if stage p + s were on rank s. In such a plan a micro-batch would be on rank
/// 1's second stage before rank 0 had worked on it. Returns whether it did so. Needs all ranks'
/// logs. Linear in the plan.
bool turnVShaped(MeasuredPlan& measured) {
  Plan& plan = measured.plan;
  if (!isLoopedTwice(plan) || !runsBack(measured)) return false;
  const int ranks = plan.numRanks();
  const auto turn = [&](int& stage) {
    if (stage >= ranks) stage = 3 * ranks - 1 - stage;
  };
  for (auto& row : plan.ranks) {
    for (Action& action : row) {
      turn(action.stage);
      turn(action.backwardStage);
    }
  }
  return true;
}

bool isOfPlan(JobKind kind) { return isCompute(kind) && kind != JobKind::kRecompute; }
bool isOfPlanOrUpdate(JobKind kind) { return isOfPlan(kind) || kind == JobKind::kOptimizer; }
bool endsBackward(JobKind kind) {
  return kind != JobKind::kForward && kind != JobKind::kBackwardInput;
}

/// A job with its numbers as the logs give them.
struct Job {
  const Event* event = nullptr;
  Action action;  // numbers: kNotGiven where they are not given
};

/// One rank of the pipeline.
struct RankRow {
  int rank = 0;      // its number in the logs
  int position = 0;  // in the pipeline
  std::vector<Job> jobs;
  int updatesEvery = 0;  // backward passes before an optimizer job that comes between jobs
};

/// The action that the log names for a job, such as "(0F7;7B3)OVERLAP_F_B".
std::optional<Action> namedAction(const Timeline& timeline, const Event& event) {
  for (const Argument& argument : timeline.argumentsOf(event)) {
    if (argument.type != ArgumentType::kText) continue;
    if (timeline.strings[argument.key] != log_format::kAction) continue;
    return parseAction(timeline.strings[argument.text]);
  }
  return std::nullopt;
}

Job jobOf(const Timeline& timeline, const Event& event) {
  Job job{&event, {event.kind, event.stage, event.microBatch, kNotGiven, kNotGiven}};
  Action& action = job.action;
  const bool isPair = event.kind == JobKind::kForwardBackward;
  if (!isPair && event.stage != kNotGiven && event.microBatch != kNotGiven) return job;
  const std::optional<Action> named = namedAction(timeline, event);
  if (!named || named->kind != event.kind) return job;
  if (action.stage == kNotGiven) action.stage = named->stage;
  if (action.microBatch == kNotGiven) action.microBatch = named->microBatch;
  action.backwardStage = named->backwardStage;
  action.backwardMicroBatch = named->backwardMicroBatch;
  return job;
}

/// The jobs of a rank in a step; of a job in sub-jobs, the first.
RankRow rowOf(const Timeline& timeline, int rank, std::int32_t step) {
  RankRow row{.rank = rank};
  std::array<std::int16_t, kJobKindCount> firstParts;
  firstParts.fill(kNotGiven);
  int backwards = 0;
  int beforeUpdate = 0;
  RankJobs jobs(timeline, rank, isOfPlanOrUpdate);
  while (const Event* const event = jobs.next()) {
    if (event->step != step) continue;
    if (event->kind == JobKind::kOptimizer) {
      if (beforeUpdate == 0) beforeUpdate = backwards;
      continue;
    }
    std::int16_t& firstPart = firstParts[static_cast<std::size_t>(event->kind)];
    if (firstPart == kNotGiven) firstPart = event->part;
    if (event->part != kNotGiven && event->part != firstPart) continue;
    row.updatesEvery = beforeUpdate;
    backwards += endsBackward(event->kind) ? 1 : 0;
    row.jobs.push_back(jobOf(timeline, *event));
  }
  return row;
}

/// The stages that a rank's jobs name.
std::set<int> stagesOf(const RankRow& row) {
  std::set<int> stages;
  for (const Job& job : row.jobs) {
    for (const int stage : {job.action.stage, job.action.backwardStage}) {
      if (stage != kNotGiven) stages.insert(stage);
    }
  }
  return stages;
}

/// Gives the jobs of one rank and stage their micro-batches where they name none.
class MicroBatchCount {
 public:
  void addForward(int microBatch) { forwards_.push_back(microBatch); }
  void close() { std::sort(forwards_.begin(), forwards_.end()); }

  int forward(int given) {
    const int n = forwardsSeen_++;
    return given == kNotGiven ? nth(n) : given;
  }
  int backward(int given) {
    const int n = backwardsSeen_++;
    return given == kNotGiven ? nth(n) : given;
  }
  int inputHalf(int given) {
    halves_.push_back(backward(given));
    return halves_.back();
  }
  int weightHalf(int given) {
    const auto found =
        given == kNotGiven ? halves_.begin() : std::find(halves_.begin(), halves_.end(), given);
    if (found == halves_.end()) return backward(given);  // the first stage may have no input half
    const int microBatch = *found;
    halves_.erase(found);
    return microBatch;
  }

 private:
  /// The n-th of those whose forwards the rank ran, where these say so.
  int nth(int n) const {
    return n < std::ssize(forwards_) ? forwards_[static_cast<std::size_t>(n)] : n;
  }

  std::vector<int> forwards_;
  std::deque<int> halves_;  // input halves whose weight halves are to come
  int forwardsSeen_ = 0;
  int backwardsSeen_ = 0;
};

class PlanMeasuring {
 public:
  PlanMeasuring(const Timeline& timeline, const Topology& topology, int replica, std::int32_t step)
      : timeline_(timeline), topology_(topology), replica_(replica), step_(step) {}

  MeasuredPlan run() {
    result_.plan.name = "step " + std::to_string(step_);
    const bool hasPlan = findRows() && placeRanks() && giveStages() && countStages();
    if (!hasPlan) return std::move(result_);
    giveMicroBatches();
    fillPlan();
    result_.problem = missingWork(result_);
    return std::move(result_);
  }

 private:
  bool fail(std::string problem) {
    result_.problem = std::move(problem);
    return false;
  }

  bool findRows() {
    const auto replicas = topology_.replicas();
    const auto members = replicas.find(replica_);
    if (members == replicas.end()) {
      return fail("the run has no pipeline " + std::to_string(replica_));
    }
    severalPipelines_ = replicas.size() > 1;
    std::vector<int> idle;
    for (const int rank : members->second) {
      rows_.push_back(rowOf(timeline_, rank, step_));
      if (rows_.back().jobs.empty()) idle.push_back(rank);
    }
    if (idle.size() == rows_.size()) {
      return fail("step " + std::to_string(step_) + " has no compute job");
    }
    if (idle.empty()) return true;
    return fail("step " + std::to_string(step_) + " has no compute job on " + ranksText(idle));
  }

  /// Finds the place of each rank in the pipeline, and how many ranks the pipeline has.
  bool placeRanks() {
    const int present = static_cast<int>(rows_.size());
    int depth = present;
    for (const RankRow& row : rows_) {
      const Topology::Place& place = topology_.places.at(row.rank);
      const auto info = timeline_.ranks.find(row.rank);
      depth = std::max(depth, place.depth);
      // With two directions a rank has two chunks of as many stages as there are ranks, and the
      // topology's depth is half of it.
      const bool isHalf = place.depth < present && !severalPipelines_;
      if (!isHalf || info == timeline_.ranks.end()) continue;
      depth = std::max(depth, std::min(info->second.worldSize.value_or(0), 2 * place.depth));
    }
    std::set<int> taken;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      RankRow& row = rows_[i];
      row.position = depth == present ? static_cast<int>(i) : positionOf(row.rank, depth);
      const bool fits = row.position >= 0 && row.position < depth;
      if (!fits || !taken.insert(row.position).second) {
        return fail("only " + std::to_string(present) + " of the pipeline's " +
                    std::to_string(depth) + " ranks have logs, and which of them is not known");
      }
    }
    if (2 * present < depth) {
      return fail("only " + std::to_string(present) + " of the pipeline's " +
                  std::to_string(depth) + " ranks have logs");
    }
    result_.rankNumbers.assign(static_cast<std::size_t>(depth), kNotGiven);
    for (const RankRow& row : rows_) {
      result_.rankNumbers[static_cast<std::size_t>(row.position)] = row.rank;
    }
    return true;
  }

  /// The place of a rank where others have no log; -1: not known.
  int positionOf(int rank, int depth) const {
    const auto info = timeline_.ranks.find(rank);
    const bool isWholeRun = info != timeline_.ranks.end() && info->second.worldSize == depth;
    return isWholeRun ? rank : topology_.places.at(rank).position;
  }

  bool giveStages() {
    for (RankRow& row : rows_) {
      std::set<int> stages = stagesOf(row);
      if (stages.empty() && topology_.places.at(row.rank).chunks == 1) {
        stages.insert(row.position);
      }
      for (Job& job : row.jobs) {
        if (!giveStage(job.action, stages)) {
          return fail("jobs of rank " + std::to_string(row.rank) + " name no stage");
        }
      }
    }
    return true;
  }

  static bool giveStage(Action& action, const std::set<int>& stages) {
    if (action.stage == kNotGiven) {
      if (stages.size() != 1) return false;
      action.stage = *stages.begin();
    }
    const bool isPair = action.kind == JobKind::kForwardBackward;
    if (!isPair || action.backwardStage != kNotGiven) return action.stage >= 0;
    // Where a rank has two stages, a pair has one forward and the other backward.
    if (stages.empty() || stages.size() > 2) return false;
    action.backwardStage = *stages.begin() == action.stage ? *stages.rbegin() : *stages.begin();
    return action.stage >= 0;
  }

  /// Every stage has jobs, so there are no more stages than jobs: a number too large is refused.
  bool countStages() {
    std::set<int> stages;
    std::size_t chunks = 0;
    int given = 0;
    for (const RankRow& row : rows_) {
      const std::set<int> own = stagesOf(row);
      chunks = std::max(chunks, own.size());
      stages.insert(own.begin(), own.end());
      const auto info = timeline_.ranks.find(row.rank);
      if (info != timeline_.ranks.end())
        given = std::max(given, info->second.numStages.value_or(0));
    }
    const std::size_t depth = result_.rankNumbers.size();
    const auto named = static_cast<std::size_t>(*stages.rbegin()) + 1;
    result_.plan.numStages = static_cast<int>(named);
    if (stages.size() == named && rows_.size() == depth) return true;
    if (rows_.size() < depth) {
      // The others are on the ranks without logs. Only a given number of stages tells of such
      // ranks.
      const auto all = static_cast<std::size_t>(given);
      result_.plan.numStages = static_cast<int>(all);
      if (named <= all && all <= depth * chunks) return true;
    }
    int missing = 0;
    for (const int stage : stages) missing += stage == missing ? 1 : 0;
    return fail("no log has a job of stage " + std::to_string(missing));
  }

  void giveMicroBatches() {
    auto& given = result_.microBatchNumbers;
    for (const RankRow& row : rows_) {
      for (const Job& job : row.jobs) {
        for (const int number : {job.action.microBatch, job.action.backwardMicroBatch}) {
          if (number != kNotGiven) given.push_back(number);
        }
      }
    }
    std::sort(given.begin(), given.end());
    given.erase(std::unique(given.begin(), given.end()), given.end());
    for (RankRow& row : rows_) {
      for (Job& job : row.jobs) {
        renumber(job.action.microBatch);
        renumber(job.action.backwardMicroBatch);
      }
      countMicroBatches(row);
    }
    int& count = result_.plan.numMicroBatches;
    for (const RankRow& row : rows_) {
      for (const Job& job : row.jobs) {
        count = std::max({count, job.action.microBatch + 1, job.action.backwardMicroBatch + 1});
      }
    }
    for (int m = static_cast<int>(given.size()); m < count; ++m) given.push_back(m);
  }

  void renumber(int& microBatch) const {
    if (microBatch == kNotGiven) return;
    const auto& numbers = result_.microBatchNumbers;
    const auto found = std::lower_bound(numbers.begin(), numbers.end(), microBatch);
    microBatch = static_cast<int>(found - numbers.begin());
  }

  void countMicroBatches(RankRow& row) {
    const auto lacksOne = [](const Job& job) {
      const bool isPair = job.action.kind == JobKind::kForwardBackward;
      return job.action.microBatch == kNotGiven ||
             (isPair && job.action.backwardMicroBatch == kNotGiven);
    };
    if (std::none_of(row.jobs.begin(), row.jobs.end(), lacksOne)) return;
    result_.countsMicroBatches = true;
    std::map<int, MicroBatchCount> counts;  // by stage
    for (const Job& job : row.jobs) {
      const bool isForward =
          job.action.kind == JobKind::kForward || job.action.kind == JobKind::kForwardBackward;
      if (!isForward || job.action.microBatch == kNotGiven) continue;
      counts[job.action.stage].addForward(job.action.microBatch);
    }
    for (auto& [stage, count] : counts) count.close();
    for (Job& job : row.jobs) count(job.action, counts);
  }

  static void count(Action& action, std::map<int, MicroBatchCount>& counts) {
    MicroBatchCount& own = counts[action.stage];
    int& microBatch = action.microBatch;
    switch (action.kind) {
      case JobKind::kForward: microBatch = own.forward(microBatch); break;
      case JobKind::kBackward: microBatch = own.backward(microBatch); break;
      case JobKind::kBackwardInput: microBatch = own.inputHalf(microBatch); break;
      case JobKind::kBackwardWeight: microBatch = own.weightHalf(microBatch); break;
      default:
        microBatch = own.forward(microBatch);
        action.backwardMicroBatch =
            counts[action.backwardStage].backward(action.backwardMicroBatch);
    }
  }

  void fillPlan() {
    Plan& plan = result_.plan;
    plan.ranks.resize(result_.rankNumbers.size());
    result_.jobs.resize(plan.ranks.size());
    for (const RankRow& row : rows_) {
      const auto r = static_cast<std::size_t>(row.position);
      for (const Job& job : row.jobs) {
        plan.ranks[r].push_back(job.action);
        result_.jobs[r].push_back(job.event);
      }
    }
    result_.stagesFollowTimes = turnVShaped(result_);
    if (!placeSharedStages(plan, topology_.ranksOfStage)) inferPlacement(plan);
    plan.updates.every = updatesOf(plan);
  }

  /// WeightUpdates::every. Empty where any rank's weights did not change between its jobs, or those
  /// of stages did after different numbers on their ranks.
  std::vector<int> updatesOf(const Plan& plan) const {
    WeightUpdates updates = WeightUpdates::alike(plan.numStages, 0);
    for (const RankRow& row : rows_) {
      for (const int stage : plan.stagesOfRank(row.position)) {
        int& found = updates.every[static_cast<std::size_t>(stage)];
        const int own = row.updatesEvery * static_cast<int>(plan.placement.ranksOf(stage).size());
        if (own == 0 || (found != 0 && found != own)) return {};
        found = own;
      }
    }
    const std::vector<int>& every = updates.every;
    if (std::find(every.begin(), every.end(), 0) != every.end()) return {};
    const bool isShared = plan.placement.hasSeveralRanks();
    return isShared || updates.ofAllStages() > 0 ? every : std::vector<int>();
  }

  const Timeline& timeline_;
  const Topology& topology_;
  int replica_;
  std::int32_t step_;
  bool severalPipelines_ = false;
  std::vector<RankRow> rows_;
  MeasuredPlan result_;
};

}  // namespace

bool placeSharedStages(Plan& plan, const StageRanks& stated) {
  if (plan.numRanks() <= plan.numStages || plan.numStages < 1) return false;
  std::size_t count = 0;
  for (const std::vector<int>& ranks : stated) count += ranks.size();
  if (count == plan.ranks.size() && std::ssize(stated) == plan.numStages) {
    plan.placement = {.ranksOfStage = stated, .run = 1};
    return true;
  }
  std::optional<StageRanks> found = ranksWithOneStage(plan);
  if (!found) return false;
  const bool takeTurns = std::all_of(found->begin(), found->end(), [&](std::vector<int>& ranks) {
    return !ranks.empty() && putInTurns(plan, ranks);
  });
  if (takeTurns) plan.placement = {.ranksOfStage = std::move(*found), .run = 1};
  return takeTurns;
}

bool hasSharedStages(const Plan& plan) {
  return plan.numRanks() > plan.numStages && plan.placement.hasSeveralRanks() &&
         plan.placement.run == 1;
}

MeasuredPlan measuredPlan(const Timeline& timeline, const Topology& topology, int replica,
                          std::int32_t step) {
  return PlanMeasuring(timeline, topology, replica, step).run();
}

}  // namespace pipetrace
