#include "analysis/what_if/plan_advice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "analysis/run/steps/median_step.h"
#include "schedule/build_schedule.h"
#include "schedule/partition/best_partition.h"
#include "schedule/partition/measured_blocks.h"
#include "schedule/partition/partition_file.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

/// Another plan hides more or less of what jobs vary than the run's. How far predictions were off
/// by that, over the mean deviation of jobs, in 95 % of the runs of docs/accuracy.md.
constexpr double kByVariation = 0.45;
/// Of launches and messages, which vary, too, and of which the model has medians.
constexpr double kLeastError = 0.001;

/// Jobs of a plan that is searched for, or simulated, in a moment.
constexpr std::int64_t kMostPlanJobs = 400'000;
constexpr std::int64_t kMostSearchedJobs = 20'000;
constexpr int kMostDepthTries = 200;
/// Peaks are sums of parts of activations.
constexpr double kPeakRounding = 1e-6;

std::string listed(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

/// "ZBV with 2 virtual stages a rank".
std::string nameOf(const PlanChanges& changes) {
  return changes.schedule +
         (changes.chunks > 1 ? " with " + std::to_string(changes.chunks) + " virtual stages a rank"
                             : "");
}

std::string withoutZeros(std::string number) {
  while (number.back() == '0') number.pop_back();
  if (number.back() == '.') number.pop_back();
  return number;
}

/// Jobs of a plan for which partitions are searched.
constexpr std::int64_t kMostCutJobs = 20'000;
/// Jobs that are timed in that search, and simulated to improve what it found.
constexpr std::int64_t kSearchBudget = 20'000'000;
constexpr std::int64_t kSimulatedJobs = 1'000'000;
constexpr std::int64_t kMostMoves = 1'000;

std::int64_t jobsOf(const Plan& plan) {
  std::int64_t jobs = 0;
  for (const auto& actions : plan.ranks) jobs += static_cast<std::int64_t>(actions.size());
  return std::max<std::int64_t>(jobs, 1);
}

/// The names of the model's blocks; empty: there is no table that has them.
std::vector<std::string> namesOf(const RunBlocks& blocks) {
  std::vector<std::string> names;
  if (!blocks.isMeasured) return names;
  for (const BlockCosts& block : blocks.table.blocks) names.push_back(block.name);
  return names;
}

}  // namespace

PlanAdvisor::PlanAdvisor(const RunModel& model, const Measured& measured, int threads,
                         std::string logs, std::string blockOptions, AdviceProgress* progress)
    : model_(model),
      measured_(measured),
      threads_(threads),
      logs_(std::move(logs)),
      blockOptions_(std::move(blockOptions)),
      progress_(progress),
      chunks_(model.chunks()),
      own_(simulated({})) {
  if (!own_.runs) throw Error("the plan of the run does not run");
}

PlanAdvisor::Simulated PlanAdvisor::simulated(const PlanChanges& changes) const {
  Simulated result;
  RunModel::SimulatedRun run;
  try {
    run = model_.run(changes);
  } catch (const Error&) {
    return result;  // the schedule cannot have that size, or its messages wait for each other
  }
  const MedianStep step = medianStepOf(run.timeline, topologyOf(run.timeline), CountedSteps());
  result.step = static_cast<Nanoseconds>(static_cast<double>(step.window) / run.batch);
  for (const double peak : run.peaks) result.peak = std::max(result.peak, peak);
  result.messages = run.messages;
  result.runs = true;
  return result;
}

double PlanAdvisor::gainOf(const Simulated& plan) const {
  const double ofStep = 1 - static_cast<double>(plan.step) / static_cast<double>(own_.step);
  return ofStep * measured_.share();
}

Nanoseconds PlanAdvisor::predicted(const Simulated& plan) const {
  return std::llround(static_cast<double>(measured_.all()) * (1 - gainOf(plan)));
}

bool PlanAdvisor::isWithin(const Simulated& plan, double limit) const {
  return plan.runs && plan.peak <= limit + kPeakRounding;
}

std::vector<PlanAdvisor::Try> PlanAdvisor::schedules(double limit,
                                                     std::vector<std::string>& notes) const {
  std::vector<Try> tries;
  if (model_.plan().isForwardOnly()) return tries;  // a training's backwards are not known
  const std::string own = model_.schedule();
  const int ranks = model_.plan().numRanks();
  const int count = model_.plan().numMicroBatches;
  for (const ScheduleInfo& info : knownSchedules()) {
    if (info.isAsynchronous || info.isForwardOnly) continue;
    for (int chunks = 1; chunks <= kMostChunks; ++chunks) {
      const bool isOwn = info.name == own && chunks == chunks_;
      const std::int64_t jobs = std::int64_t{3} * ranks * chunks * count;
      const bool isTooLarge = jobs > (info.dependsOnCosts ? kMostAutoJobs : kMostPlanJobs);
      if (info.dependsOnCosts && isTooLarge) {
        notes.push_back("the schedule " + std::string(info.name) + " was not tried with " +
                        std::to_string(chunks) + (chunks < kMostChunks ? " or more" : "") +
                        " virtual stages a rank: over " + std::to_string(kMostAutoJobs) + " jobs");
        break;
      }
      if (isOwn || isTooLarge || chunks < info.leastChunks || chunks > info.mostChunks) continue;
      const std::string name(info.name);
      Try one;
      one.changes.schedule = name;
      one.changes.chunks = chunks;
      one.advice = {
          .of = Advice::Of::kSchedule,
          .what = "take " + nameOf(one.changes) + (own.empty() ? "" : " in place of " + own),
          .command = "--schedule " + name + " --chunks " + std::to_string(chunks),
          .options = optionsOfSchedule(name, chunks, ranks, count)};
      if (info.dependsOnCosts) {
        const std::string most = withoutZeros(fixedText(limit, 6));
        one.changes.activationLimit = std::stod(most);
        one.advice.command += " --limit-activations " + most;
        one.advice.notes.emplace_back(
            "it is a plan for the times of this run: the command below with --csv plan.csv writes "
            "it, and "
            "trainings on PipeTrace's engine take it with --schedule-file plan.csv");
      }
      if (info.splitsBackward) {
        one.advice.notes.emplace_back(
            "backwards are split into two halves, which are taken to be equal unless the run or "
            "its blocks have "
            "them");
      }
      tries.push_back(std::move(one));
    }
  }
  return tries;
}

std::vector<PlanAdvisor::Try> PlanAdvisor::microBatches() const {
  std::vector<Try> tries;
  const int count = model_.plan().numMicroBatches;
  if (model_.schedule().empty()) return tries;
  const auto add = [&](int changed) {
    Try one;
    one.changes.microBatches = changed;
    one.changes.keepsBatch = true;
    one.advice = {.of = Advice::Of::kMicroBatches,
                  .what = "cut the batch into " +
                          countText(changed, "micro-batch", "micro-batches") + " in place of " +
                          std::to_string(count),
                  .command = "--micro-batches " + std::to_string(changed) + " --keep-batch",
                  .options = optionsOfMicroBatches(changed, count)};
    if (changed > count) {
      one.advice.notes.emplace_back(
          "kernels of smaller micro-batches are mostly less efficient, which is not in it");
    }
    tries.push_back(std::move(one));
  };
  for (const int times : {2, 4}) {
    if (std::int64_t{3} * model_.plan().numStages * count * times <= kMostPlanJobs) {
      add(count * times);
    }
  }
  if (count % 2 == 0) add(count / 2);
  return tries;
}

std::vector<PlanAdvisor::Try> PlanAdvisor::messageOrders() const {
  if (model_.lines() == CommStreams::kAsReached) return {};
  Try one;
  one.changes.transfers = "in-time";
  one.advice = {.of = Advice::Of::kMessageOrder,
                .what = "send and receive messages in the order of their times",
                .command = "--transfers in-time",
                .options = optionsOfMessageOrder()};
  return {std::move(one)};
}

std::vector<PlanAdvisor::Try> PlanAdvisor::messageLines() const {
  const CommStreams own = model_.lines();
  if (own != CommStreams::kRank && own != CommStreams::kPeer && own != CommStreams::kDirection) {
    return {};
  }
  Try one;
  one.changes.lines = CommStreams::kEdge;
  one.advice = {
      .of = Advice::Of::kMessageLines,
      .what = "give the messages from each rank to each other a communicator of their own",
      .command = "--comm-streams edge",
      .options = optionsOfMessageLines()};
  if (own == CommStreams::kRank) {
    const Simulated cheaper = simulated({.lines = CommStreams::kDirection});
    if (cheaper.runs) {
      one.advice.notes.push_back(
          "with two communicators, one for activations and one for "
          "gradients, a step takes " +
          formatDuration(predicted(cheaper)));
    }
  }
  return {std::move(one)};
}

std::vector<int> PlanAdvisor::deepened(std::vector<int> depths, double limit) const {
  const auto tried = [&](const std::vector<int>& each) {
    return simulated({.schedule = model_.schedule(), .depths = each});
  };
  Simulated best = tried(depths);
  if (!isWithin(best, limit)) return {};
  const int most = model_.plan().numMicroBatches;
  for (int tries = 0; tries < kMostDepthTries;) {
    std::vector<std::vector<int>> next;
    for (std::size_t rank = 0; rank < depths.size(); ++rank) {
      // A rank that warms up deeper needs those before it to be ahead.
      std::vector<int> one = depths;
      one[rank] = std::min(one[rank] + 1, most);
      for (std::size_t before = 0; before < rank; ++before) {
        one[before] = std::max(one[before], one[rank]);
      }
      if (one != depths) next.push_back(std::move(one));
    }
    std::vector<Simulated> found(next.size());
    inParallel(threads_, next.size(), [&](std::size_t i) { found[i] = tried(next[i]); });
    tries += static_cast<int>(next.size());
    std::size_t chosen = next.size();
    for (std::size_t i = 0; i < next.size(); ++i) {
      if (!isWithin(found[i], limit) || found[i].step >= best.step) continue;
      best = found[i];
      chosen = i;
    }
    if (chosen == next.size()) break;
    depths = next[chosen];
  }
  return depths;
}

std::vector<PlanAdvisor::Try> PlanAdvisor::warmUps(double limit) const {
  if (model_.schedule().empty() || chunks_ != 1) return {};
  const ScheduleInfo& own = scheduleInfo(model_.schedule());
  if (own.eagerKin == nullptr) return {};
  const int ranks = model_.plan().numRanks();
  const int count = model_.plan().numMicroBatches;
  if (ranks < 2 || std::int64_t{3} * ranks * count > kMostSearchedJobs) return {};
  std::vector<Try> tries;
  std::vector<int> usual;
  std::vector<int> eager;
  for (int rank = 0; rank < ranks; ++rank) {
    usual.push_back(std::min(ranks - 1 - rank, count));
    eager.push_back(std::min(2 * (ranks - 1 - rank), count));
  }
  for (const std::vector<int>& begin : {usual, eager}) {
    const std::vector<int> depths = deepened(begin, limit);
    if (depths.empty() || depths == usual) continue;
    Try one;
    one.changes.schedule = own.name;
    one.changes.depths = depths;
    one.advice = {
        .of = Advice::Of::kWarmUp,
        .what = "warm up with " + listed(depths) + " forwards, by rank, in place of " +
                listed(usual) + ", to hide slow links",
        .command = "--schedule " + one.changes.schedule + " --stage-depths " + listed(depths),
        .options = optionsOfWarmUp(depths == eager ? own.eagerKin : nullptr)};
    tries.push_back(std::move(one));
  }
  return tries;
}

void PlanAdvisor::addStepsInLine(double limit, std::vector<Try>& tries) const {
  if (!asksInLine()) return;
  std::vector<Try*> shorter;
  for (Try& one : tries) {
    const Simulated& found = one.simulated;
    const bool isSchedule = one.advice.of == Advice::Of::kSchedule && found.messages > 0;
    if (isSchedule && isWithin(found, limit) && found.step < own_.step) shorter.push_back(&one);
  }
  inParallel(threads_, shorter.size(), [&](std::size_t i) {
    PlanChanges changes = shorter[i]->changes;
    changes.lines = CommStreams::kRank;
    const Simulated inLine = simulated(changes);
    if (!inLine.runs) return;
    shorter[i]->advice.inLine = {.step = predicted(inLine), .gain = gainOf(inLine)};
  });
}

/// Says how plan.csv is written, which some options are about.
void PlanAdvisor::addCommandOfPlanFile(Advice& advice) const {
  for (FrameworkOption& option : advice.options) {
    if (!option.takesPlanFile) continue;
    option.text = advice.command + " --csv plan.csv, and then " + option.text;
    if (model_.plan().hasRecomputes()) {
      option.text += ", without the cells of R: what runs again is up to the modules there";
    }
  }
}

std::int64_t PlanAdvisor::jobsOfTry(const Try& one) const {
  const int chunks = one.changes.chunks > 0 ? one.changes.chunks : chunks_;
  const int count =
      one.changes.microBatches > 0 ? one.changes.microBatches : model_.plan().numMicroBatches;
  const int times = one.advice.of == Advice::Of::kSchedule && asksInLine() ? 2 : 1;
  return std::int64_t{3} * model_.plan().numRanks() * chunks * count * times;
}

void PlanAdvisor::leaveLargeOnes(std::int64_t mostJobs, std::vector<Try>& tries,
                                 std::vector<std::string>& notes) const {
  std::stable_sort(tries.begin(), tries.end(),
                   [&](const Try& a, const Try& b) { return jobsOfTry(a) < jobsOfTry(b); });
  std::int64_t jobs = 0;
  std::size_t kept = 0;
  while (kept < tries.size() && (jobs += jobsOfTry(tries[kept])) <= mostJobs) ++kept;
  if (kept == tries.size()) return;
  notes.push_back(
      countText(tries.size() - kept, "change of the plan was", "changes of the plan were") +
      " not tried, as the run is large: pipe-trace advise " + logs_ + " tries all");
  tries.resize(kept);
}

/// What it makes that nobody knows whether messages of other micro-batches are as long, as a share
/// of the step.
double PlanAdvisor::offByMessages(const Try& one) const {
  if (!one.changes.keepsBatch || model_.messagesScale()) return 0;
  PlanChanges changes = one.changes;
  changes.scalesMessages = true;
  const Simulated other = simulated(changes);
  return other.runs ? std::abs(gainOf(other) - gainOf(one.simulated)) : 0;
}

std::vector<Advice> PlanAdvisor::advice(double limit, double error, std::vector<std::string>& notes,
                                        std::int64_t mostJobs) {
  std::vector<Try> tries = schedules(limit, notes);
  for (auto more :
       {microBatches(), messageOrders(), messageLines(), warmUps(limit), partitions(limit)}) {
    std::move(more.begin(), more.end(), std::back_inserter(tries));
  }
  if (mostJobs > 0) leaveLargeOnes(mostJobs, tries, notes);
  if (progress_ != nullptr) {
    progress_->inAll = progress_->tried + static_cast<std::int64_t>(tries.size());
  }
  inParallel(threads_, tries.size(), [&](std::size_t i) {
    tries[i].simulated = simulated(tries[i].changes);
    tries[i].offByMessages = offByMessages(tries[i]);
    if (progress_ != nullptr) progress_->next();
  });
  addStepsInLine(limit, tries);
  addPartitionOfBest(limit, tries);
  std::vector<Advice> advice;
  std::map<Advice::Of, const Try*> overLimit;  // the shortest of each kind
  std::map<Advice::Of, double> mostGain;       // within the limit
  for (Try& one : tries) {
    if (!one.simulated.runs) continue;
    ++tried_;
    Advice& made = one.advice;
    made.isByModel = true;
    made.step = predicted(one.simulated);
    made.gain = gainOf(one.simulated);
    made.error =
        std::hypot(error, kByVariation * model_.variation(), one.offByMessages) * measured_.share();
    made.error = std::max(made.error, kLeastError);
    made.peak = one.simulated.peak;
    made.messages = one.simulated.messages;
    if (made.peak > limit + kPeakRounding) {
      if (made.of == Advice::Of::kSchedule) overLimit_.push_back(made);
      const Try*& shortest = overLimit[made.of];
      if (shortest == nullptr || one.simulated.step < shortest->simulated.step) shortest = &one;
      continue;
    }
    mostGain[made.of] = std::max(mostGain[made.of], made.gain);
    made.command = "pipe-trace what-if " + logs_ + " " + made.command;
    const bool cutsBlocks =
        one.changes.partition || (one.changes.chunks > 0 && one.changes.chunks != chunks_);
    const bool needsBlocks =
        !blockOptions_.empty() && model_.blocks() && (cutsBlocks || model_.blocks()->isMeasured);
    if (needsBlocks) made.command += " " + blockOptions_;
    addCommandOfPlanFile(made);
    advice.push_back(made);
  }
  std::stable_sort(overLimit_.begin(), overLimit_.end(),
                   [](const Advice& a, const Advice& b) { return a.gain > b.gain; });
  for (const auto& [kind, one] : overLimit) {
    if (one->advice.gain <= mostGain[kind] + AdviceList::kLeastGain) continue;
    notes.push_back("over the limit of " + fixedText(limit, 2) +
                    " activations: " + one->advice.what + ", which would gain " +
                    fixedText(100 * one->advice.gain, 1) + " % and holds " +
                    fixedText(one->simulated.peak, 2) + " (--limit-activations)");
  }
  return advice;
}

/// `begins` are partitions. From the best of them, blocks are moved one at a time as long as the
/// step becomes shorter. The result has no blocks where none of them is within the limit.
PlanAdvisor::Partitioned PlanAdvisor::improved(const std::vector<std::vector<int>>& begins,
                                               const PlanChanges& changes, double limit) const {
  const auto tried = [&](const std::vector<int>& counts) {
    PlanChanges with = changes;
    with.partition = BlockPartition{.blocks = counts, .recomputed = {}};
    return simulated(with);
  };
  Partitioned best;
  const auto take = [&](const std::vector<int>& counts, const Simulated& plan) {
    const bool isBetter =
        isWithin(plan, limit) && (best.blocks.empty() || plan.step < best.plan.step);
    if (isBetter) best = {counts, plan};
    return isBetter;
  };
  for (const std::vector<int>& begin : begins) take(begin, tried(begin));
  if (best.blocks.empty()) return best;
  const std::int64_t jobs =
      changes.changesJobs() ? jobsOf(model_.run(changes).order) : jobsOf(model_.plainPlan());
  std::int64_t left = std::clamp<std::int64_t>(kSimulatedJobs / jobs, 0, kMostMoves);
  for (bool isShorter = true; isShorter;) {
    std::vector<std::vector<int>> next;
    for (std::size_t from = 0; from < best.blocks.size(); ++from) {
      for (std::size_t to = 0; to < best.blocks.size(); ++to) {
        if (from == to || best.blocks[from] < 2) continue;
        next.push_back(best.blocks);
        --next.back()[from];
        ++next.back()[to];
      }
    }
    left -= static_cast<std::int64_t>(next.size());
    if (left < 0) break;
    std::vector<Simulated> plans(next.size());
    inParallel(threads_, next.size(), [&](std::size_t i) { plans[i] = tried(next[i]); });
    isShorter = false;
    for (std::size_t i = 0; i < next.size(); ++i) isShorter = take(next[i], plans[i]) || isShorter;
  }
  return best;
}

/// The search knows neither launches nor single links, so what it finds is a place to begin from.
std::vector<int> PlanAdvisor::searchedPartition(double limit) const {
  const RunBlocks& blocks = *model_.blocks();
  const Plan& plan = model_.plainPlan();
  std::vector<std::vector<int>> begins = {blocks.partition.blocks};
  try {
    begins.push_back(evenBlocks(blocks.table.numBlocks(), plan.numStages));
    const PartitionSearchOptions options{
        .memoryLimit = model_.memoryOf(limit), .budget = kSearchBudget, .recomputes = false};
    const BestPartition found = bestPartition(CheckedPlan(plan), model_.measuredTable(), options);
    begins.push_back(found.best.partition.blocks);
  } catch (const Error&) {
    // Plans of too many stages, or of jobs that no search has: the others are left.
  }
  return improved(begins, {}, limit).blocks;
}

std::vector<PlanAdvisor::Try> PlanAdvisor::partitions(double limit) const {
  const int stages = model_.plan().numStages;
  if (!model_.blocks() || stages < 2 || jobsOf(model_.plainPlan()) > kMostCutJobs) return {};
  const RunBlocks& blocks = *model_.blocks();
  const std::vector<int>& run = blocks.partition.blocks;
  std::vector<Try> tries;
  const auto add = [&](const std::vector<int>& found) {
    if (found.empty() || found == run) return;
    const std::string counts = blockCountsText(found);
    Try one;
    one.changes.partition = BlockPartition{.blocks = found, .recomputed = {}};
    one.advice = {.of = Advice::Of::kPartition,
                  .what = "cut the model into stages of " + counts + " blocks in place of " +
                          blockCountsText(run),
                  .command = "--partition " + counts,
                  .options = optionsOfPartition(found, namesOf(blocks))};
    one.advice.notes.push_back("trainings on PipeTrace's engine take it with --partition " +
                               counts);
    if (!blocks.isMeasured) {
      one.advice.notes.emplace_back(
          "the blocks of a stage are taken to take equally long; --blocks FILE says what they "
          "cost");
    }
    tries.push_back(std::move(one));
  };
  const std::vector<int> best = searchedPartition(std::numeric_limits<double>::max());
  add(best);
  const PlanChanges ofBest{.partition = BlockPartition{.blocks = best, .recomputed = {}}};
  if (!isWithin(simulated(ofBest), limit)) add(searchedPartition(limit));
  return tries;
}

/// The schedule `auto` makes another plan for each partition, which takes too long.
void PlanAdvisor::addPartitionOfBest(double limit, std::vector<Try>& tries) const {
  if (!model_.blocks()) return;
  Try* shown = nullptr;  // the shortest
  Try* best = nullptr;   // the shortest but auto
  const auto take = [](Try& one, Try*& to) {
    if (to == nullptr || one.simulated.step < to->simulated.step) to = &one;
  };
  for (Try& one : tries) {
    if (one.advice.of != Advice::Of::kSchedule || !isWithin(one.simulated, limit)) continue;
    take(one, shown);
    if (!scheduleInfo(one.changes.schedule).dependsOnCosts) take(one, best);
  }
  if (best == nullptr || shown->simulated.step >= own_.step) return;
  const Plan plan = model_.run(best->changes).order;
  if (jobsOf(plan) > kMostCutJobs || plan.numStages < 2) return;
  const RunBlocks& blocks = *model_.blocks();
  const Partitioned found = improved({cutBlocks(blocks.partition, plan.numStages).blocks,
                                      evenBlocks(blocks.table.numBlocks(), plan.numStages)},
                                     best->changes, limit);
  if (found.blocks.empty()) return;
  const double gain =
      1 - static_cast<double>(found.plan.step) / static_cast<double>(shown->simulated.step);
  if (gain <= AdviceList::kLeastGain) return;
  const std::string counts = blockCountsText(found.blocks);
  shown->advice.notes.push_back((shown == best ? "" : best->changes.schedule + " ") +
                                "with stages of " + counts + " blocks as well: the step takes " +
                                formatDuration(predicted(found.plan)) + ", " +
                                fixedText(100 * gainOf(found.plan), 1) + " % less (" +
                                best->advice.command + " --partition " + counts + ")");
}

}  // namespace pipetrace
