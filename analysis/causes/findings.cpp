#include "analysis/causes/findings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/causes/critical_path.h"
#include "analysis/median.h"
#include "analysis/ratio.h"
#include "analysis/run/bubbles/bubbles.h"
#include "analysis/run/graph/job_name.h"
#include "analysis/run/steps/median_step.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

/// A share of the idle time from which on a finding is a warning.
constexpr double kWarningShare = 0.05;
/// A rank or a stage that takes that many times as long as others is no minor finding if it works
/// for longer by this part of a step.
constexpr double kHiddenFactor = 1.1;
constexpr double kHiddenShare = 0.03;
/// Of ranks that are late, those are named that cost this part of what the first one costs.
constexpr Nanoseconds kPartOfFirst = 20;
/// Clocks are read less exactly than that.
constexpr Nanoseconds kLeastEarly = 10 * kNsPerUs;

/// Which groups of culprits are one finding of a kind.
enum class Joins : std::uint8_t {
  kNever,
  kAll,
  kOfSameRanks,     ///< stages that are on the same ranks
  kOfSameTime,      ///< ranks that became slow at one time
  kOfSamePipeline,  ///< ranks of one
  kOfSameGroup,     ///< ranks that meet inside jobs
  kOfSameClass
};

/// How much findings of a kind matter.
enum class Matters : std::uint8_t { kByShare, kAlways, kNever, kByReason };

struct GroupRow {
  FindingKind kind;
  const char* name;
  Joins joins;
  Matters matters;
};

constexpr std::array<GroupRow, kFindingKindCount> kGroupRows = {{
    {FindingKind::kEarlyMessages, "early_messages", Joins::kNever, Matters::kAlways},
    {FindingKind::kSlowStages, "slow_stages", Joins::kOfSameRanks, Matters::kByShare},
    {FindingKind::kSlowRank, "slow_rank", Joins::kOfSameTime, Matters::kByShare},
    {FindingKind::kSlowReplica, "slow_replica", Joins::kOfSamePipeline, Matters::kByShare},
    {FindingKind::kLongJob, "long_job", Joins::kNever, Matters::kByShare},
    {FindingKind::kOftenLongJob, "often_long_job", Joins::kNever, Matters::kByShare},
    {FindingKind::kLongJobs, "long_jobs", Joins::kNever, Matters::kByShare},
    {FindingKind::kUnevenMicroBatches, "uneven_micro_batches", Joins::kAll, Matters::kByShare},
    {FindingKind::kScatteredPauses, "scattered_pauses", Joins::kAll, Matters::kByShare},
    {FindingKind::kUnevenLoad, "uneven_load", Joins::kOfSameGroup, Matters::kByShare},
    {FindingKind::kSlowGroup, "slow_group", Joins::kOfSameGroup, Matters::kByShare},
    {FindingKind::kSlowReduction, "slow_reduction", Joins::kNever, Matters::kByShare},
    {FindingKind::kSlowOptimizer, "slow_optimizer", Joins::kNever, Matters::kByShare},
    {FindingKind::kUnevenMoving, "uneven_moving", Joins::kAll, Matters::kNever},
    {FindingKind::kPeersVary, "peers_vary", Joins::kAll, Matters::kNever},
    {FindingKind::kUntracedPeers, "untraced_peers", Joins::kNever, Matters::kByShare},
    {FindingKind::kExposedCollectives, "exposed_collectives", Joins::kNever, Matters::kByShare},
    {FindingKind::kContention, "contention", Joins::kNever, Matters::kByShare},
    {FindingKind::kUnsteadyJobs, "unsteady_jobs", Joins::kAll, Matters::kByShare},
    {FindingKind::kData, "data", Joins::kAll, Matters::kByShare},
    {FindingKind::kLateJob, "late_job", Joins::kNever, Matters::kByShare},
    {FindingKind::kLateJobs, "late_jobs", Joins::kAll, Matters::kByShare},
    {FindingKind::kLateMessages, "late_messages", Joins::kAll, Matters::kByShare},
    {FindingKind::kSlowLink, "slow_link", Joins::kNever, Matters::kByShare},
    {FindingKind::kEarlyLink, "early_link", Joins::kNever, Matters::kAlways},
    {FindingKind::kLongMessages, "long_messages", Joins::kNever, Matters::kByShare},
    {FindingKind::kMessages, "messages", Joins::kAll, Matters::kByShare},
    {FindingKind::kUnloggedMessages, "unlogged_messages", Joins::kAll, Matters::kByShare},
    {FindingKind::kHeldLines, "held_lines", Joins::kAll, Matters::kByShare},
    {FindingKind::kUnknownSender, "unknown_sender", Joins::kNever, Matters::kByShare},
    {FindingKind::kOfClass, "of_class", Joins::kOfSameClass, Matters::kByShare},
    {FindingKind::kPauses, "pauses", Joins::kNever, Matters::kByReason},
    {FindingKind::kSchedule, "schedule", Joins::kNever, Matters::kNever},
    {FindingKind::kOptimizers, "optimizers", Joins::kNever, Matters::kNever},
    {FindingKind::kOptimizersAndCollectives, "optimizers_and_collectives", Joins::kNever,
     Matters::kNever},
    {FindingKind::kUnknown, "unknown", Joins::kNever, Matters::kNever},
}};

static_assert(
    [] {
      for (std::size_t i = 0; i < kGroupRows.size(); ++i) {
        if (kGroupRows[i].kind != static_cast<FindingKind>(i)) return false;
      }
      return true;
    }(),
    "a kind of findings lacks its row, or stands elsewhere");

const GroupRow& groupRowOf(FindingKind kind) { return kGroupRows[static_cast<std::size_t>(kind)]; }

/// Products of long times would overflow.
bool isMost(Nanoseconds part, Nanoseconds whole) { return part >= whole - whole / 5; }

/// Whether one job has at least four fifths of the group's time, over all steps.
bool isOneJob(const CulpritGroup& group) { return isMost(group.timeOfJob, group.time); }

/// Whether it has so in one step.
bool isOneStep(const CulpritGroup& group) {
  return isOneJob(group) && isMost(group.timeOfStep, group.timeOfJob);
}

/// The part of a link's time that other links would not have taken.
Nanoseconds excessOf(const CulpritGroup& group, const LinkTimes& links) {
  const LinkTimes::Link link{group.rank, group.peer};
  const Nanoseconds own = links.of(link);
  const Nanoseconds others = links.ofOthers(link).value_or(0);
  if (others <= 0 || own <= 0) return group.time;
  return static_cast<Nanoseconds>(
      static_cast<double>(group.time) *
      (1 - ratio(static_cast<double>(others), static_cast<double>(own))));
}

FindingKind kindOfMessages(const CulpritGroup& group, const LinkTimes& links,
                           Nanoseconds stepTime) {
  if (!group.outliers.empty()) return FindingKind::kLongMessages;
  const LinkTimes::Link link{group.rank, group.peer};
  if (group.rank < 0) return FindingKind::kUnknownSender;
  // No rank sends messages to itself: these were taken for another's. A collective has such a link.
  if (group.rank == group.peer && links.of(link) > 0) return FindingKind::kUnknownSender;
  if (links.empty()) return FindingKind::kUnloggedMessages;
  if (links.isEarly(link)) return FindingKind::kEarlyLink;
  const bool isSlow = links.isSlow(link) && ratio(excessOf(group, links), stepTime) >= kMinorShare;
  return isSlow || !links.ofOthers(link) ? FindingKind::kSlowLink : FindingKind::kMessages;
}

/// Whether the rank is slower than its peers, or slower in the step of the job with most of the
/// group, and that job no longer than others of its rank and step: it only stands for them.
bool isSlowLikeItsRank(const JobGraph& graph, const CulpritGroup& group, const SlowerRanks& ranks) {
  constexpr double kLonger = 1.1;
  const JobGraph::Node& job = graph.node(group.job);
  const SlowerRanks::Rank& of = ranks.of(group.rank);
  if (!of.isSlower() && !(of.change && of.change->has(job.step))) return false;
  const JobGraph::Rank& rank = graph.ranks()[job.rank];
  std::vector<Nanoseconds> durations;
  for (const JobGraph::Node& each : graph.nodes().subspan(rank.first, rank.end - rank.first)) {
    const bool isAlike = each.kind == job.kind && each.stage == job.stage && each.step == job.step;
    const auto id = static_cast<Id>(&each - graph.nodes().data());
    if (isAlike) durations.push_back(graph.lengthOf(id));
  }
  const auto usual = static_cast<double>(lowerMedianOf(durations));
  return static_cast<double>(graph.lengthOf(group.job)) < kLonger * usual && durations.size() > 1;
}

/// By rank: the index of its pipeline, if all ranks of that are slower than their peers and some
/// pipeline has none that is.
class SlowReplicas {
 public:
  SlowReplicas(const JobGraph& graph, const SlowerRanks& ranks) {
    const auto isSlow = [&](std::uint32_t r) {
      const SlowerRanks::Rank& rank = ranks.of(graph.ranks()[r].number);
      return rank.isSlower() && !rank.change;
    };
    bool hasOther = false;
    for (std::size_t p = 0; p < graph.pipelines().size(); ++p) {
      const std::vector<std::uint32_t>& members = graph.pipelines()[p];
      hasOther = hasOther || std::none_of(members.begin(), members.end(), isSlow);
      if (members.size() < 2 || !std::all_of(members.begin(), members.end(), isSlow)) continue;
      if (!graph.inside().empty() && isOfOneRank(graph, ranks, members)) continue;
      for (const std::uint32_t r : members) pipelineOf_[graph.ranks()[r].number] = p;
    }
    if (!hasOther) pipelineOf_.clear();
  }
  const std::size_t* of(int rank) const {
    const auto found = pipelineOf_.find(rank);
    return found == pipelineOf_.end() ? nullptr : &found->second;
  }

 private:
  /// Ranks that meet others inside jobs are a little slow with one that is, as collectives come
  /// when they compute.
  static bool isOfOneRank(const JobGraph& graph, const SlowerRanks& ranks,
                          const std::vector<std::uint32_t>& members) {
    double least = 1e9;
    double most = 1;
    for (const std::uint32_t r : members) {
      const double factor = ranks.of(graph.ranks()[r].number).factor;
      least = std::min(least, factor);
      most = std::max(most, factor);
    }
    return 4 * (least - 1) < most - 1;
  }

  std::map<int, std::size_t> pipelineOf_;
};

/// Whether most of the jobs of a group that is of a few jobs alone are pauses.
bool areScattered(const CulpritGroup& group, const ScatteredPauses& pauses) {
  const auto count = std::count_if(group.outliers.begin(), group.outliers.end(),
                                   [&](JobGraph::Id job) { return pauses.contains(job); });
  return 2 * static_cast<std::size_t>(count) > group.outliers.size();
}

/// Whether the jobs of the stage are no longer than those of others but for what collectives inside
/// them move.
bool areAlikeByWork(const FindingInputs& run, const CulpritGroup& group) {
  constexpr double kAlike = 0.025;
  if (run.of.graph().inside().empty() || group.stage < 0) return false;
  const SlowerStages::Factor factor = run.stages.besideOthers({group.stage});
  // Of launches only a part shows: in others collectives run.
  const bool areKernelsAlike = std::abs(factor.kernels - 1) < kAlike;
  return factor.isKnown && (std::abs(factor.times - 1) < kAlike || areKernelsAlike);
}

/// The slow group whose collectives a group of culprits is about. Of what stages take longer than
/// others, most is the time that they move. Where a stage is faster by that alone, those of other
/// stages are slow.
const Peers::SlowSet* slowSetOf(const FindingInputs& run, const CulpritGroup& group) {
  if (group.rank < 0 || run.ranks.isSlow(group.rank)) return nullptr;
  const Peers::SlowSet* const slow = run.peers.slowSetOf(group.rank);
  if (group.bubbleClass != BubbleClass::kImbalance) return slow;
  if (slow != nullptr) return run.stages.isSlowByMoving(group.stage) ? slow : nullptr;
  if (run.peers.slowSets().empty() || !areAlikeByWork(run, group)) return nullptr;
  const Peers::SlowSet& slowest = run.peers.slowSets().front();
  const auto holdsUp = [&](std::int32_t stage) {
    return run.stages.of(stage).ranks.contains(slowest.ranks.front()) &&
           run.stages.isSlowByMoving(stage);
  };
  return std::ranges::any_of(run.stages.all(), holdsUp) ? &slowest : nullptr;
}

/// Whether the stage may differ from others by chance alone, as its jobs vary. Micro-batches of
/// uneven length make jobs vary on all stages alike.
bool isOfChance(const FindingInputs& run, const CulpritGroup& group) {
  return group.stage >= 0 && !run.lengths.isShownBy(group.stage) &&
         run.stages.mayBeChance(group.stage);
}

/// One job among many is always the longest. It says something by itself if in one run of a hundred
/// the longest of all its jobs is as long by chance: by the median deviation of the logarithms of
/// its rank's jobs of that stage and kind. Of jobs in which ranks meet, if it takes half as long
/// again as usual.
bool isMuchLonger(const FindingInputs& run, Id job) {
  constexpr double kRuns = 100;
  constexpr double kSigma = 1.4826;  // over the median deviation
  const JobGraph& graph = run.of.graph();
  const Nanoseconds own = graph.ownTimeOf(job);
  const Nanoseconds usual = run.times.median(job);
  if (!graph.inside().empty()) return 2 * own >= 3 * usual;
  if (own <= 0 || usual <= 0) return false;
  const auto above = [](Nanoseconds length, Nanoseconds median) {
    return std::log(static_cast<double>(length) / static_cast<double>(median));
  };
  const JobGraph::Node& longest = graph.node(job);
  const JobGraph::Rank& rank = graph.ranks()[longest.rank];
  std::vector<double> deviations;
  for (const JobGraph::Node& each : graph.nodes().subspan(rank.first, rank.end - rank.first)) {
    if (each.kind != longest.kind || each.stage != longest.stage) continue;
    if (!run.counted.contains(each.step) || each.end <= each.begin) continue;
    deviations.push_back(std::abs(above(each.end - each.begin, usual)));
  }
  // Of n numbers with a standard normal distribution the largest is seldom above sqrt(2 ln n).
  const double sigmas = std::sqrt(2 * std::log(kRuns * static_cast<double>(graph.jobCount())));
  return above(own, usual) >= sigmas * kSigma * lowerMedianOf(deviations);
}

/// `stepTime`: timeOfSteps().
FindingKind kindOf(const FindingInputs& run, const CulpritGroup& group, Nanoseconds stepTime) {
  const JobGraph& graph = run.of.graph();
  const int rank = group.rank;
  const bool isTransfer = group.bubbleClass == BubbleClass::kTransfer;
  if (!isTransfer && areScattered(group, run.scattered)) return FindingKind::kScatteredPauses;
  switch (group.bubbleClass) {
    case BubbleClass::kImbalance:
      if (slowSetOf(run, group) != nullptr) return FindingKind::kSlowGroup;
      if (isOfChance(run, group)) return FindingKind::kUnsteadyJobs;
      return areAlikeByWork(run, group) ? FindingKind::kUnevenMoving : FindingKind::kSlowStages;
    case BubbleClass::kTransfer: return kindOfMessages(group, run.links, stepTime);
    case BubbleClass::kBlocked: return FindingKind::kHeldLines;
    case BubbleClass::kLateStart:
      if (group.lateMessage != JobGraph::kNone) return FindingKind::kLateMessages;
      if (loadsData(graph.node(group.job).kind)) return FindingKind::kData;
      return isOneJob(group) ? FindingKind::kLateJob : FindingKind::kLateJobs;
    case BubbleClass::kPeerWait:
      if (!group.outliers.empty()) return FindingKind::kLongJobs;
      if (slowSetOf(run, group) != nullptr) return FindingKind::kSlowGroup;
      if (!run.ranks.isSlow(rank) && run.peers.loadOf(rank) != nullptr) {
        return FindingKind::kUnevenLoad;
      }
      if (!run.ranks.isSlow(rank) && run.lengths.isShownBy(graph.node(group.job).stage)) {
        return FindingKind::kUnevenMicroBatches;
      }
      if (isOneJob(group) && !isSlowLikeItsRank(graph, group, run.ranks) &&
          isMuchLonger(run, group.job)) {
        return isOneStep(group) ? FindingKind::kLongJob : FindingKind::kOftenLongJob;
      }
      if (run.ranks.isSlow(rank)) return FindingKind::kSlowRank;
      return graph.inside().empty() ? FindingKind::kUnsteadyJobs : FindingKind::kPeersVary;
    default: return FindingKind::kOfClass;
  }
}

/// Whether it is one message that was late once, and not a rank that posts its messages late.
bool isOneLateMessage(FindingKind kind, const CulpritGroup& group) {
  return kind == FindingKind::kLateMessages && isOneStep(group);
}

/// Groups with equal keys are one finding.
using FindingKey = std::tuple<FindingKind, int, int, std::vector<int>>;

/// `number`: of the group. `pipeline`: the index of the slow one.
FindingKey findingKeyOf(const FindingInputs& run, const Finding& finding, int number,
                        std::size_t pipeline) {
  const CulpritGroup& group = finding.culprit;
  if (isOneLateMessage(finding.kind, finding.culprit)) return {finding.kind, 1, number, {}};
  switch (groupRowOf(finding.kind).joins) {
    case Joins::kNever: break;
    case Joins::kAll: return {finding.kind, 0, finding.isOfMany ? 1 : 0, {}};
    case Joins::kOfSameRanks: {
      if (group.stage < 0) break;
      const std::set<int>& all = run.stages.of(group.stage).ranks;
      return {finding.kind, 0, 0, {all.begin(), all.end()}};
    }
    case Joins::kOfSameTime:
      if (const auto& change = run.ranks.of(group.rank).change; change && !change->isBesidePeers) {
        return {finding.kind, change->first, change->last, change->apart};
      }
      break;
    case Joins::kOfSamePipeline: return {finding.kind, 0, static_cast<int>(pipeline), {}};
    case Joins::kOfSameClass: return {finding.kind, 0, static_cast<int>(group.bubbleClass), {}};
    case Joins::kOfSameGroup:
      return {finding.kind, 0, 0,
              finding.kind == FindingKind::kSlowGroup ? slowSetOf(run, group)->ranks
                                                      : std::vector<int>()};
  }
  return {finding.kind, 1, number, {}};
}

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

void join(Finding& into, const Finding& more) {
  into.culprit.time += more.culprit.time;
  into.culprit.inside += more.culprit.inside;
  append(into.culprit.examples, more.culprit.examples);
  append(into.culprit.fronts, more.culprit.fronts);
  append(into.ranks, more.ranks);
  append(into.links, more.links);
  append(into.stages, more.stages);
}

SlowReplica slowReplica(const FindingInputs& run, std::size_t pipeline) {
  SlowReplica slow;
  std::vector<double> factors;
  for (const std::uint32_t r : run.of.graph().pipelines()[pipeline]) {
    const JobGraph::Rank& rank = run.of.graph().ranks()[r];
    slow.ranks.push_back(rank.number);
    factors.push_back(run.ranks.of(rank.number).factor);
    slow.replica = rank.replica;
  }
  std::sort(slow.ranks.begin(), slow.ranks.end());
  slow.factor = lowerMedianOf(factors);
  return slow;
}

using Examples = std::vector<std::pair<std::uint32_t, Bubble>>;

Nanoseconds lengthOf(const std::pair<std::uint32_t, Bubble>& example) {
  return example.second.end - example.second.begin;
}

void keepLongest(Examples& examples) {
  std::stable_sort(examples.begin(), examples.end(),
                   [](const auto& a, const auto& b) { return lengthOf(a) > lengthOf(b); });
  examples.resize(std::min(examples.size(), kMostExamples));
}

/// Adds up the times of those that are there several times, as with bubbles of two classes. The
/// largest come first.
template <typename Whose>
void addUp(std::vector<std::pair<Whose, Nanoseconds>>& times) {
  std::vector<std::pair<Whose, Nanoseconds>> sums;
  std::map<Whose, std::size_t> places;
  for (const auto& [whose, time] : times) {
    const auto [place, isNew] = places.try_emplace(whose, sums.size());
    if (isNew) sums.emplace_back(whose, 0);
    sums[place->second].second += time;
  }
  if (sums.size() < times.size()) {
    std::stable_sort(sums.begin(), sums.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    times = std::move(sums);
  }
}

/// The longest compute job of a stage in a step; kNone: there is none.
Id longestJobOf(const JobGraph& graph, std::int32_t stage, std::int32_t step) {
  Id longest = JobGraph::kNone;
  for (Id id = 0; id < graph.jobCount(); ++id) {
    const JobGraph::Node& job = graph.node(id);
    if (job.stage != stage || job.step != step || !isCompute(job.kind)) continue;
    if (longest == JobGraph::kNone || graph.lengthOf(id) > graph.lengthOf(longest)) longest = id;
  }
  return longest;
}

/// Makes a finding about the fast half of the stages one about the other half.
void turnToSlowHalf(const FindingInputs& run, Finding& finding) {
  const JobGraph& graph = run.of.graph();
  const std::vector<std::int32_t> fast = run.stages.halfWith(finding.stages);
  finding.stages.clear();
  finding.ranks.clear();
  std::set<int> ranks;
  for (const std::int32_t stage : run.stages.all()) {
    if (std::ranges::find(fast, stage) != fast.end()) continue;
    finding.stages.push_back(stage);
    const std::set<int>& ofStage = run.stages.of(stage).ranks;
    ranks.insert(ofStage.begin(), ofStage.end());
  }
  CulpritGroup& culprit = finding.culprit;
  culprit.stage = run.stages.slowestOf(finding.stages);
  culprit.job = longestJobOf(graph, culprit.stage, culprit.step);
  if (culprit.job != JobGraph::kNone) {
    culprit.rank = graph.ranks()[graph.node(culprit.job).rank].number;
  }
  for (const int rank : ranks) {
    finding.ranks.emplace_back(rank, culprit.time / static_cast<Nanoseconds>(ranks.size()));
  }
}

/// Where stages are two halves, of which one is slow, the other is not fast by itself: what it
/// costs to wait for both is one finding, about the slow one.
void joinHalves(const FindingInputs& run, std::vector<Finding>& findings) {
  const auto isHalf = [&](const Finding& finding, bool isSlow) {
    if (finding.kind != FindingKind::kSlowStages || finding.stages.empty()) return false;
    const std::vector<std::int32_t> half = run.stages.halfWith(finding.stages);
    return 2 * half.size() == run.stages.count() &&
           (run.stages.besideOthers(half).times > 1) == isSlow;
  };
  auto slow = std::find_if(findings.begin(), findings.end(),
                           [&](const Finding& finding) { return isHalf(finding, true); });
  if (slow == findings.end()) {
    slow = std::find_if(findings.begin(), findings.end(),
                        [&](const Finding& finding) { return isHalf(finding, false); });
    if (slow == findings.end()) return;
    turnToSlowHalf(run, *slow);
  }
  for (const Finding& finding : findings) {
    if (!isHalf(finding, false)) continue;
    slow->culprit.time += finding.culprit.time;
    slow->culprit.inside += finding.culprit.inside;
  }
  std::erase_if(findings, [&](const Finding& finding) { return isHalf(finding, false); });
}

bool isOfLateWork(FindingKind kind) {
  return kind == FindingKind::kLateJobs || kind == FindingKind::kLateMessages;
}

/// The ranks that cost far more by late jobs, or by late messages, than ranks do in the median. All
/// that cost something are, where they are less than half of the run's. One message that was late
/// once is no way of its rank, and not in the median. Of ranks whose jobs vary those that vary far
/// more than others: who waits for whom is chance where all vary alike.
class StandingOut {
 public:
  StandingOut(const FindingInputs& run, Nanoseconds stepTime) {
    std::map<FindingKind, std::map<int, Nanoseconds>> byKind;
    std::map<int, Nanoseconds> once;  // the time of one late message, by rank
    for (const CulpritGroup& group : run.culprits.groups) {
      const FindingKind kind = kindOf(run, group, stepTime);
      if (!isOfLateWork(kind)) continue;
      std::map<int, Nanoseconds>& ofRanks = byKind[kind];
      (isOneLateMessage(kind, group) ? once : ofRanks)[group.rank] += group.time;
    }
    for (const auto& [kind, ofRanks] : byKind) {
      std::vector<Nanoseconds> times(run.of.graph().ranks().size() - ofRanks.size(), 0);
      for (const auto& [rank, time] : ofRanks) times.push_back(time);
      const Nanoseconds median = lowerMedianOf(times);
      const auto addTo = [&](const std::map<int, Nanoseconds>& ranks) {
        for (const auto& [rank, time] : ranks) {
          if (time > kFarMore * median) ranks_.insert({kind, rank});
        }
      };
      addTo(ofRanks);
      if (kind == FindingKind::kLateMessages) addTo(once);
    }
    addUnsteady(run);
  }
  bool contains(FindingKind kind, int rank) const { return ranks_.contains({kind, rank}); }

 private:
  static constexpr Nanoseconds kFarMore = 4;
  static constexpr double kVariesMore = 1.5;

  void addUnsteady(const FindingInputs& run) {
    const std::vector<double> variation = variationByRank(run.of.graph(), run.times, run.counted);
    std::vector<double> sorted = variation;
    const double median = sorted.empty() ? 0 : lowerMedianOf(sorted);
    for (std::size_t r = 0; r < variation.size(); ++r) {
      if (variation[r] <= kVariesMore * median) continue;
      ranks_.insert({FindingKind::kUnsteadyJobs, run.of.graph().ranks()[r].number});
    }
  }

  std::set<std::pair<FindingKind, int>> ranks_;
};

/// Findings of groups with a culprit, without their facts; the most expensive first.
std::vector<Finding> groupedFindings(const FindingInputs& run, Nanoseconds stepTime) {
  const SlowReplicas replicas(run.of.graph(), run.ranks);
  const StandingOut standingOut(run, stepTime);
  std::vector<Finding> findings;
  std::map<FindingKey, std::size_t> known;
  int number = 0;
  for (const CulpritGroup& group : run.culprits.groups) {  // the largest first
    Finding finding{.kind = kindOf(run, group, stepTime)};
    finding.culprit = group;
    const bool mayBeOfMany =
        isOfLateWork(finding.kind) || finding.kind == FindingKind::kUnsteadyJobs;
    finding.isOfMany =
        mayBeOfMany && group.outliers.empty() && !standingOut.contains(finding.kind, group.rank);
    if (rowOf(group.bubbleClass).blame == BubbleBlame::kLink) {
      finding.links = {{{group.rank, group.peer}, group.time}};
    } else {
      finding.ranks = {{group.rank, group.time}};
    }
    if (finding.kind == FindingKind::kSlowStages && group.stage >= 0)
      finding.stages = {group.stage};
    const std::size_t* const pipeline =
        finding.kind == FindingKind::kSlowRank ? replicas.of(group.rank) : nullptr;
    if (pipeline != nullptr) {
      finding.kind = FindingKind::kSlowReplica;
      finding.facts = slowReplica(run, *pipeline);
    }
    const auto [place, isNew] = known.try_emplace(
        findingKeyOf(run, finding, number++, pipeline == nullptr ? 0 : *pipeline), findings.size());
    if (isNew) {
      findings.push_back(std::move(finding));
    } else {
      join(findings[place->second], finding);
    }
  }
  for (Finding& finding : findings) std::ranges::sort(finding.stages);
  joinHalves(run, findings);
  for (Finding& finding : findings) {
    keepLongest(finding.culprit.examples);
    addUp(finding.ranks);
    if (finding.culprit.inside > 0) {
      std::erase_if(finding.ranks,
                    [&](const auto& each) { return 200 * each.second < finding.culprit.time; });
    }
    if (isOfLateWork(finding.kind)) {
      const Nanoseconds first = finding.ranks.front().second;
      std::erase_if(finding.ranks,
                    [&](const auto& each) { return kPartOfFirst * each.second < first; });
    }
    addUp(finding.links);
  }
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return a.culprit.time > b.culprit.time;
  });
  return findings;
}

/// The facts of findings with a culprit, and what would remove it.
class CulpritFacts {
 public:
  /// Must outlive it.
  explicit CulpritFacts(const FindingInputs& run) : run_(run), graph_(run.of.graph()) {}

  void addTo(Finding& finding) const {
    const CulpritGroup& group = finding.culprit;
    const auto set = [&](Remedy remedy, auto facts) {
      finding.remedy = remedy;
      finding.facts = std::move(facts);
    };
    const std::monostate none;
    switch (finding.kind) {
      case FindingKind::kSlowStages: return addStages(finding);
      case FindingKind::kSlowRank: {
        const DeviceState device = deviceStateOf(run_.of.timeline(), group.rank);
        if (finding.ranks.size() == 1 && device.isReason()) finding.device = device;
        return set(Remedy::kHostOfRank, run_.ranks.of(group.rank));
      }
      case FindingKind::kSlowReplica: finding.remedy = Remedy::kHostsOfReplica; return;
      case FindingKind::kLongJob: return set(Remedy::kThatMoment, blamed(group.job, group));
      case FindingKind::kOftenLongJob: return set(Remedy::kThatMicroBatch, oftenLong(group));
      case FindingKind::kLongJobs: {
        BlamedJob job = blamed(longest(group), group);
        job.count = static_cast<int>(group.outliers.size());
        return set(Remedy::kThatMoment, std::move(job));
      }
      case FindingKind::kUnevenMicroBatches: return set(Remedy::kEvenMicroBatches, run_.lengths);
      case FindingKind::kScatteredPauses: return set(Remedy::kCollectTogether, run_.scattered);
      case FindingKind::kUnevenLoad: return set(Remedy::kEvenLoad, run_.peers.loads().front());
      case FindingKind::kSlowGroup: return set(Remedy::kNetworkOfGroup, *slowSetOf(run_, group));
      case FindingKind::kUnevenMoving: return set(Remedy::kInsideTimes, none);
      case FindingKind::kPeersVary:
        if (const auto& load = run_.peers.possibleLoad()) return set(Remedy::kSteadierPeers, *load);
        return set(Remedy::kSteadierPeers, none);
      case FindingKind::kUnsteadyJobs: return set(Remedy::kSteadierHosts, none);
      case FindingKind::kData: return set(Remedy::kDataAhead, loaded(group));
      case FindingKind::kLateJob: {
        BlamedJob job = blamed(group.job, group);
        if (!isOneStep(group) || isOnlyStep()) job.step = -1;
        job.opensStep = opensStep(group.job);
        return set(job.opensStep ? Remedy::kSoonerSteps : Remedy::kSoonerLaunches, std::move(job));
      }
      case FindingKind::kLateJobs: return set(Remedy::kSoonerLaunches, none);
      case FindingKind::kLateMessages: return set(Remedy::kSoonerMessages, lateMessage(group));
      case FindingKind::kSlowLink: {
        const LinkTimes::Link link{group.rank, group.peer};
        const LinkBesideOthers facts{run_.links.of(link), run_.links.ofOthers(link),
                                     run_.links.hasPostings(link), run_.links.slowWayOf(link)};
        return set(!facts.hasPostings ? Remedy::kPostingsInLogs
                   : facts.others     ? Remedy::kThatLink
                                      : Remedy::kShorterMessages,
                   facts);
      }
      case FindingKind::kEarlyLink: return set(Remedy::kMoveClocksOfLink, none);
      case FindingKind::kLongMessages: return set(Remedy::kNetworkAtThatTime, longMessages(group));
      case FindingKind::kMessages: {
        const bool hasPostings =
            std::all_of(finding.links.begin(), finding.links.end(),
                        [&](const auto& link) { return run_.links.hasPostings(link.first); });
        return set(hasPostings ? Remedy::kFewerMessages : Remedy::kPostingsInLogs,
                   LinkBesideOthers{.hasPostings = hasPostings});
      }
      case FindingKind::kUnloggedMessages: return set(Remedy::kMessagesInLogs, none);
      case FindingKind::kHeldLines:
        return set(Remedy::kOrderOfMessages, heldLinesOf(graph_, group));
      case FindingKind::kUnknownSender: return set(Remedy::kAllLogs, none);
      case FindingKind::kOfClass: return set(Remedy::kOfClass, none);
      case FindingKind::kUntracedPeers:
      case FindingKind::kExposedCollectives:
      case FindingKind::kContention:
      case FindingKind::kSlowReduction:
      case FindingKind::kSlowOptimizer:
      case FindingKind::kEarlyMessages:
      case FindingKind::kPauses:
      case FindingKind::kSchedule:
      case FindingKind::kOptimizers:
      case FindingKind::kOptimizersAndCollectives:
      case FindingKind::kUnknown: return;  // of no group
    }
  }

 private:
  void addStages(Finding& finding) const {
    if (finding.stages.size() == 1) {
      const std::vector<std::int32_t> half = run_.stages.halfWith(finding.stages);
      if (run_.stages.slowOnes(half) == half) finding.stages = half;
    }
    addStagesOfRanks(finding);
    const std::vector<std::int32_t> stages =
        finding.stages.empty() ? std::vector{finding.culprit.stage} : finding.stages;
    StagesBesideOthers facts{.all = run_.stages.besideOthers(stages),
                             .slowOnes = run_.stages.slowOnes(stages)};
    facts.ofSlowOnes = run_.stages.besideOthers(facts.slowOnes);
    for (const std::int32_t stage : stages) {
      const std::set<int>& ranks = run_.stages.of(stage).ranks;
      facts.ranks.insert(ranks.begin(), ranks.end());
    }
    const auto& change = run_.ranks.of(finding.culprit.rank).change;
    if (facts.ranks.size() == 1 && change && !change->isBesidePeers) facts.change = change;
    facts.lackPeers = facts.ranks.size() == 1 && graph_.pipelines().size() > 1;
    facts.areRanksAlike = std::none_of(facts.ranks.begin(), facts.ranks.end(),
                                       [&](int rank) { return run_.ranks.isSlow(rank); });
    const bool areSome = facts.slowOnes.size() < finding.stages.size();
    finding.remedy = areSome && facts.all.isKnown && facts.isSlower()
                         ? Remedy::kFewerLayersForTheSlow
                     : facts.isFaster()       ? Remedy::kMoreLayers
                     : !facts.isSlower()      ? Remedy::kComparePasses
                     : facts.ranks.size() > 1 ? Remedy::kFewerLayers
                                              : Remedy::kFewerLayersOrHost;
    finding.facts = std::move(facts);
  }

  /// Ranks may wait for some stages of a slow rank alone; all that are as slow belong to it.
  void addStagesOfRanks(Finding& finding) const {
    if (finding.stages.empty() || !run_.stages.besideOthers(finding.stages).isKnown) return;
    const std::set<int>& ranks = run_.stages.of(finding.stages.front()).ranks;
    const double least = 1 + (run_.stages.besideOthers(finding.stages).times - 1) / 2;
    if (least <= 1) return;
    for (std::int32_t stage = 0; std::cmp_less(stage, run_.stages.count()); ++stage) {
      if (run_.stages.of(stage).ranks != ranks) continue;
      if (std::ranges::find(finding.stages, stage) != finding.stages.end()) continue;
      if (run_.stages.besideOthers({stage}).times >= least) finding.stages.push_back(stage);
    }
    std::ranges::sort(finding.stages);
  }

  /// Of several pipelines: whether it is the first of its step in its one.
  bool opensStep(Id id) const {
    const std::vector<PipelineBasis>& pipelines = run_.of.basis().pipelines();
    return pipelines.size() > 1 && std::ranges::any_of(pipelines, [&](const auto& pipeline) {
             return std::ranges::any_of(pipeline.windows, [&](const BubbleWindow& window) {
               return window.firstCompute == id;
             });
           });
  }

  BlamedJob blamed(Id id, const CulpritGroup& group) const {
    const JobGraph::Node& job = graph_.node(id);
    return {.name = jobName(run_.of.timeline(), job),
            .rank = group.rank,
            .step = job.step,
            .length = graph_.lengthOf(id),
            .usual = run_.times.median(id)};
  }

  LateMessage lateMessage(const CulpritGroup& group) const {
    const JobGraph::Node& message = graph_.node(group.lateMessage);
    const bool isSend = isPostedBySender(graph_, group.lateMessage);
    const JobGraph::Message& ends = graph_.message(group.lateMessage);
    Nanoseconds ready = kNsMin;
    for (const Id input : {message.inputs[0], message.before}) {
      if (input != JobGraph::kNone) ready = std::max(ready, graph_.node(input).end);
    }
    LateMessage late{.name = messageName(isSend ? *ends.send : *ends.receive, message.microBatch),
                     .rank = group.rank,
                     .step = isOneStep(group) && !isOnlyStep() ? message.step : -1,
                     .late = ready == kNsMin ? 0 : message.begin - ready,
                     .isOnlyOne = isOneJob(group)};
    if (isSend && late.late > 0) late.behind = receivedIn({ready, message.begin}, group.rank);
    return late;
  }

  /// The message that a rank on a processor received for most of that time; empty: none.
  std::string receivedIn(const Timeline::Span& span, int rank) const {
    const auto info = run_.of.timeline().ranks.find(rank);
    if (info == run_.of.timeline().ranks.end() || info->second.device != "cpu") return {};
    for (Id id = static_cast<Id>(graph_.jobCount()); id < graph_.messageEnd(); ++id) {
      const Event* const receive = graph_.message(id).receive;
      if (receive == nullptr || graph_.ranks()[graph_.node(id).rank].number != rank) continue;
      const Nanoseconds both =
          std::min(receive->end, span.end) - std::max(receive->begin, span.begin);
      if (2 * both > span.end - span.begin) {
        return messageName(*receive, graph_.node(id).microBatch);
      }
    }
    return {};
  }

  BlamedJob loaded(const CulpritGroup& group) const {
    BlamedJob facts = blamed(group.job, group);
    const JobGraph::Rank& rank = graph_.ranks()[graph_.node(group.job).rank];
    std::set<std::int32_t> steps;
    Nanoseconds time = 0;
    for (const JobGraph::Node& each : graph_.nodes().subspan(rank.first, rank.end - rank.first)) {
      if (!run_.counted.contains(each.step)) continue;
      steps.insert(each.step);
      if (loadsData(each.kind)) time += each.end - each.begin;
    }
    facts.perStep = time / static_cast<Nanoseconds>(steps.size());
    return facts;
  }

  /// The jobs that are alike in all steps that count: which is the longest, and how many are
  /// longer than the median.
  BlamedJob oftenLong(const CulpritGroup& group) const {
    const JobGraph::Node& job = graph_.node(group.job);
    const JobGraph::Rank& rank = graph_.ranks()[job.rank];
    BlamedJob facts = blamed(group.job, group);
    facts.count = 0;
    facts.all = 0;
    for (const JobGraph::Node& each : graph_.nodes().subspan(rank.first, rank.end - rank.first)) {
      const bool isAlike = each.kind == job.kind && each.stage == job.stage &&
                           each.microBatch == job.microBatch && run_.counted.contains(each.step);
      if (!isAlike) continue;
      const Nanoseconds length = graph_.lengthOf(static_cast<Id>(&each - graph_.nodes().data()));
      ++facts.all;
      if (length > facts.usual) ++facts.count;
      if (length <= facts.length) continue;
      facts.length = length;
      facts.step = each.step;
    }
    return facts;
  }

  LongMessages longMessages(const CulpritGroup& group) const {
    const JobGraph::Node& message = graph_.node(longest(group));
    const JobGraph::Node& sender = graph_.node(message.inputs[0]);
    std::set<std::int32_t> steps;
    for (const Id each : group.outliers) steps.insert(graph_.node(each).step);
    return {.from = graph_.ranks()[sender.rank].number,
            .to = graph_.ranks()[message.rank].number,
            .job = jobName(run_.of.timeline(), sender),
            .step = message.step,
            .length = message.end - message.begin,
            .usual = run_.links.of({group.rank, group.peer}),
            .count = static_cast<int>(group.outliers.size()),
            .steps = {steps.begin(), steps.end()}};
  }

  Id longest(const CulpritGroup& group) const {
    return *std::max_element(group.outliers.begin(), group.outliers.end(), [&](Id a, Id b) {
      return graph_.node(a).end - graph_.node(a).begin < graph_.node(b).end - graph_.node(b).begin;
    });
  }

  bool isOnlyStep() const {
    std::optional<std::int32_t> only;
    for (const JobGraph::Node& job : graph_.nodes().first(graph_.jobCount())) {
      if (!isCompute(job.kind) || !run_.counted.contains(job.step)) continue;
      if (only && *only != job.step) return false;
      only = job.step;
    }
    return true;
  }

  const FindingInputs& run_;
  const JobGraph& graph_;
};

/// A job or a message of the graph. A message is where its receive is, else where its send is.
void addNode(const JobGraph& graph, JobGraph::Id id, Evidence::Role role,
             std::vector<Evidence>& found) {
  if (id == JobGraph::kNone) return;
  const JobGraph::Node& node = graph.node(id);
  if (node.event == nullptr) return;
  const bool isSend = node.isMessage && graph.message(id).receive == nullptr;
  const bool hasSender = isSend && node.inputs[0] != JobGraph::kNone;
  const std::uint32_t rank = hasSender ? graph.node(node.inputs[0]).rank : node.rank;
  found.push_back({.role = role, .rank = graph.ranks()[rank].number, .event = node.event});
}

void addBubbles(const JobGraph& graph, const Examples& examples, std::vector<Evidence>& found) {
  for (const auto& [rank, bubble] : examples) {
    found.push_back({.rank = graph.ranks()[rank].number, .bubble = bubble});
  }
}

void addCulprit(const JobGraph& graph, const CulpritGroup& culprit, std::vector<Evidence>& found) {
  constexpr auto kRole = Evidence::Role::kCulprit;
  if (culprit.lateMessage != JobGraph::kNone) {
    const JobGraph::Message& ends = graph.message(culprit.lateMessage);
    const bool isSend = isPostedBySender(graph, culprit.lateMessage);
    found.push_back(
        {.role = kRole, .rank = culprit.rank, .event = isSend ? ends.send : ends.receive});
  } else if (culprit.bubbleClass == BubbleClass::kBlocked && culprit.isAtSender) {
    const Event* const send = graph.message(culprit.job).send;
    found.push_back({.role = kRole, .rank = culprit.rank, .event = send});
  } else {
    addNode(graph, culprit.job, kRole, found);
  }
}

void addPause(const Pauses& pauses, std::vector<Evidence>& found) {
  if (pauses.longestWork != nullptr) {
    found.push_back(
        {.role = Evidence::Role::kInPause, .rank = pauses.rank, .event = pauses.longestWork});
  }
  if (pauses.next != nullptr) {
    found.push_back(
        {.role = Evidence::Role::kAfterPause, .rank = pauses.rankOfNext, .event = pauses.next});
  }
}

/// The message between two ranks that is received longest before it is sent.
Id earliestMessage(const JobGraph& graph, LinkTimes::Link link, const CountedSteps& counted) {
  Id earliest = JobGraph::kNone;
  Nanoseconds least = kNsMax;
  for (auto id = static_cast<Id>(graph.jobCount()); id < graph.messageEnd(); ++id) {
    const JobGraph::Node& node = graph.node(id);
    if (node.inputs[0] == JobGraph::kNone || node.end - node.begin >= least) continue;
    if (!counted.contains(node.step)) continue;
    const int from = graph.ranks()[graph.node(node.inputs[0]).rank].number;
    const int to = graph.ranks()[node.rank].number;
    if (std::pair(std::min(from, to), std::max(from, to)) != link) continue;
    earliest = id;
    least = node.end - node.begin;
  }
  return earliest;
}

/// The pipelines that no rank is missing of.
std::set<int> wholePipelines(const FindingInputs& run) {
  std::set<int> whole;
  for (const PipelineBasis& pipeline : run.of.basis().pipelines()) {
    const bool isWhole = std::none_of(pipeline.windows.begin(), pipeline.windows.end(),
                                      [](const BubbleWindow& window) { return window.lacksRanks; });
    if (isWhole) whole.insert(pipeline.replica);
  }
  return whole;
}

/// The least time between steps of each pipeline whose first rank is there and of which two steps
/// or more are followed by another one, over all steps; by pipeline. Where other ranks are missing,
/// so much may be their warm-up and drain.
std::map<int, Nanoseconds> leastGaps(const FindingInputs& run) {
  std::map<int, std::pair<int, Nanoseconds>> gaps;  // how many, and the least
  for (const auto& [rank, place] : run.of.topology().places) {
    if (place.position == 0) gaps[place.replica] = {0, kNsMax};
  }
  for (const StepSummary& step : run.of.summary().steps) {
    const auto of = gaps.find(step.replica);
    if (of == gaps.end() || !step.isFollowed) continue;
    ++of->second.first;
    of->second.second = std::min(of->second.second, step.betweenSteps);
  }
  std::map<int, Nanoseconds> least;
  for (const auto& [replica, gap] : gaps) {
    if (gap.first > 1) least[replica] = gap.second;
  }
  return least;
}

/// The steps that count, to look for pauses between them. Where all pipelines lack ranks, those
/// that have their first one are looked at, which begins each step: only what is beyond their usual
/// time between steps can be a pause.
RunSummary stepsForPauses(const FindingInputs& run) {
  const std::set<int> whole = wholePipelines(run);
  const std::map<int, Nanoseconds> least =
      whole.empty() ? leastGaps(run) : std::map<int, Nanoseconds>();
  RunSummary steps;
  steps.phase = run.of.summary().phase;
  steps.otherSteps = run.of.summary().otherSteps;
  for (StepSummary step : run.of.summary().steps) {
    if (!run.counted.contains(step.step)) continue;
    if (const auto gap = least.find(step.replica); gap != least.end()) {
      const Nanoseconds usual = std::min(step.betweenSteps, gap->second);
      step.windowEnd += usual;
      step.betweenSteps -= usual;
    } else if (!whole.contains(step.replica)) {
      continue;
    }
    steps.steps.push_back(std::move(step));
  }
  return steps;
}

/// Sums and longest bubbles by class, in the steps that count.
struct ClassSums {
  std::array<Examples, kBubbleClassCount> longest;
  ClassTimes times{};
  Nanoseconds idle = 0;

  explicit ClassSums(const FindingInputs& run) {
    const std::vector<std::vector<Bubble>>& byRank = run.of.bubbles().byRank;
    for (std::uint32_t rank = 0; rank < byRank.size(); ++rank) {
      for (const Bubble& bubble : byRank[rank]) {
        if (run.counted.contains(bubble.step)) add(rank, bubble);
      }
    }
  }

 private:
  void add(std::uint32_t rank, const Bubble& bubble) {
    const auto index = static_cast<std::size_t>(bubble.bubbleClass);
    const Nanoseconds length = bubble.end - bubble.begin;
    times[index] += length;
    idle += length;
    Examples& examples = longest[index];
    if (examples.size() == kMostExamples && length <= lengthOf(examples.back())) return;
    examples.emplace_back(rank, bubble);
    keepLongest(examples);
  }
};

/// The time of the steps that count, on all ranks, with that between them.
Nanoseconds timeOfSteps(const RunSummary& summary, const CountedSteps& counted) {
  Nanoseconds time = 0;
  for (const StepSummary& step : summary.steps) {
    if (!counted.contains(step.step)) continue;
    for (const RankStep& rank : step.ranks) time += rank.busy + rank.idle + step.betweenSteps;
  }
  return time;
}

/// How many ranks run the steps.
Nanoseconds ranksOf(const RunSummary& summary) {
  std::set<int> ranks;
  for (const StepSummary& step : summary.steps) {
    for (const RankStep& rank : step.ranks) ranks.insert(rank.rank);
  }
  return std::ssize(ranks);
}

/// Whether a pause comes after four of five steps or more. Steps that are left out of the figures
/// show as well that there can be none.
bool isAfterMostSteps(const FindingInputs& run, const Pauses& pauses) {
  const auto isWithout = [&](const StepSummary& step) {
    return step.isFollowed && !run.counted.contains(step.step) &&
           3 * (step.betweenSteps + step.otherPhases) < pauses.end - pauses.begin;
  };
  std::set<std::int32_t> without;
  for (const StepSummary& step : run.of.summary().steps) {
    if (isWithout(step)) without.insert(step.step);
  }
  return 5 * pauses.count >= 4 * (pauses.steps + static_cast<int>(without.size()));
}

/// Why more idle time is unknown than the causes that were not found.
UnknownIdle unknownIdle(const FindingInputs& run) {
  for (const PipelineBasis& pipeline : run.of.basis().pipelines()) {
    const bool lacksPlan = std::any_of(
        pipeline.windows.begin(), pipeline.windows.end(), [](const BubbleWindow& window) {
          return window.isWhole && window.lacksRanks && !window.hasPlan;
        });
    if (lacksPlan) return {.lacksPlan = true, .lacksRanks = true};
  }
  return {.lacksRanks = wholePipelines(run).size() < run.of.basis().pipelines().size(),
          .lacking = stepsThatLackJobs(run.of.basis(), run.counted),
          .areMessagesOfNobody = run.of.graph().hasWaits()};
}

Remedy remedyOf(const UnknownIdle& unknown) {
  if (unknown.lacksPlan || unknown.lacking.steps.empty()) {
    if (unknown.areMessagesOfNobody) return Remedy::kNamedMessages;
    return unknown.lacksRanks ? Remedy::kAllLogs : Remedy::kRecordMore;
  }
  return unknown.lacking.whole ? Remedy::kStepsLeftOut : Remedy::kWholeLogs;
}

Remedy remedyOf(const Pauses& pauses) {
  switch (pauses.reason) {
    case Pauses::Reason::kData: return Remedy::kDataAhead;
    case Pauses::Reason::kCheckpoint: return Remedy::kFewerCheckpoints;
    case Pauses::Reason::kEvaluation:
    case Pauses::Reason::kPrediction: return Remedy::kFewerEvaluations;
    case Pauses::Reason::kUnknown: break;
  }
  return Remedy::kProgramBetweenSteps;
}

/// Says what a step would gain if no message held up others, where the finding is about that.
void addGainInTime(const FindingInputs& run, Finding& finding) {
  if (finding.kind != FindingKind::kHeldLines || finding.isMinor) return;
  auto inTime = runInTime(run.of);
  const Nanoseconds usual = medianStepOf(run.of.summary(), run.counted).window;
  if (!inTime || inTime->length >= inTime->asItWas) return;
  inTime->length = std::llround(static_cast<double>(usual) * static_cast<double>(inTime->length) /
                                static_cast<double>(inTime->asItWas));
  inTime->usual = usual;
  inTime->logs = run.logs;
  std::get<HeldLines>(finding.facts).inTime = std::move(inTime);
}

class Findings {
 public:
  explicit Findings(const FindingInputs& run)
      : run_(run),
        graph_(run.of.graph()),
        sums_(run),
        stepTime_(timeOfSteps(run.of.summary(), run.counted)) {}

  std::vector<Finding> all() {
    addEarlyMessages();
    const auto first = static_cast<std::ptrdiff_t>(findings_.size());
    addCulprits();
    addUntracedPeers();
    addExposedCollectives();
    addContention();
    addSlowReductions();
    addSlowOptimizers();
    addPauses();
    // Where nobody is to blame it comes after those who are.
    const auto isOfNobody = [](const Finding& finding) {
      const auto* const pauses = finding.factsOf<Pauses>();
      if (pauses != nullptr && pauses->mayBeUpdates) return true;
      return finding.kind == FindingKind::kUnevenMoving ||
             finding.kind == FindingKind::kPeersVary || finding.isOfMany;
    };
    std::stable_sort(findings_.begin() + first, findings_.end(),
                     [&](const Finding& a, const Finding& b) {
                       if (isOfNobody(a) != isOfNobody(b)) return isOfNobody(b);
                       return a.time > b.time;
                     });
    moveBehindCulprits(FindingKind::kExposedCollectives, first);
    addClasses(FindingKind::kSchedule, Remedy::kAnotherSchedule,
               {BubbleClass::kWarmUp, BubbleClass::kSteady, BubbleClass::kDrain});
    if (graph_.nodes().size() > graph_.messageEnd()) {
      addClasses(FindingKind::kOptimizersAndCollectives, Remedy::kUpdatesAndReductions,
                 {BubbleClass::kSync});
    } else {
      addClasses(FindingKind::kOptimizers, Remedy::kFasterUpdates, {BubbleClass::kSync});
    }
    for (const BubbleClass c : kReportedClasses) {
      const bool isSaid = isOfSchedule(c) || c == BubbleClass::kSync || c == BubbleClass::kUnknown;
      if (!isSaid && rowOf(c).blame == BubbleBlame::kNobody) {
        addClasses(FindingKind::kOfClass, Remedy::kOfClass, {c});
      }
    }
    const UnknownIdle unknown = unknownIdle(run_);
    addClasses(FindingKind::kUnknown, remedyOf(unknown), {BubbleClass::kUnknown}, unknown);
    const bool onProcessors = runsOnProcessors(run_.of.timeline());
    for (Finding& finding : findings_) finding.onProcessors = onProcessors;
    std::stable_partition(findings_.begin(), findings_.end(),
                          [](const Finding& finding) { return !finding.isMinor; });
    return std::move(findings_);
  }

 private:
  /// How weights are gathered is nobody's fault: what somebody does comes before it.
  void moveBehindCulprits(FindingKind kind, std::ptrdiff_t first) {
    const auto found =
        std::ranges::find(findings_.begin() + first, findings_.end(), kind, &Finding::kind);
    const auto hasCulprit = [](const Finding& finding) {
      const Whereabouts where = whereaboutsOf(finding);
      const bool isSomebody = !where.ranks.empty() || !where.stages.empty() || !where.links.empty();
      return isSomebody && !finding.isMinor && finding.kind != FindingKind::kUnevenMoving &&
             finding.kind != FindingKind::kPeersVary;
    };
    const auto last = std::find_if(findings_.rbegin(), findings_.rend(), hasCulprit).base();
    if (found < last) std::rotate(found, found + 1, last);
  }

  /// Clocks that differ make all else doubtful.
  void addEarlyMessages() {
    const auto& early = run_.links.early();
    const auto most =
        std::max_element(early.begin(), early.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == early.end() || most->second < kLeastEarly) return;
    Finding finding{.kind = FindingKind::kEarlyMessages,
                    .remedy = Remedy::kMoveClocks,
                    .severity = Severity::kWarning};
    finding.facts = EarlyArrivals{.by = most->second, .moreLinks = early.size() - 1};
    finding.culprit.rank = most->first.first;
    finding.culprit.peer = most->first.second;
    addNode(graph_, earliestMessage(graph_, most->first, run_.counted),
            Evidence::Role::kEarlyMessage, finding.evidence);
    findings_.push_back(std::move(finding));
  }

  void addCulprits() {
    const CulpritFacts facts(run_);
    for (Finding& finding : groupedFindings(run_, stepTime_)) {
      facts.addTo(finding);
      finding.bubbleClass = finding.culprit.bubbleClass;
      finding.classes = {finding.bubbleClass};
      addBubbles(graph_, finding.culprit.examples, finding.evidence);
      addCulprit(graph_, finding.culprit, finding.evidence);
      finding.time = finding.culprit.time;
      finding.inside = finding.culprit.inside;
      add(std::move(finding));
      addGainInTime(run_, findings_.back());
    }
  }

  void addPauses() {
    const RunSummary steps = stepsForPauses(run_);
    // Of the pipelines that are looked at.
    const Nanoseconds time = timeOfSteps(steps, run_.counted);
    for (Pauses& pauses : pausesOf(run_.of.timeline(), steps, run_.counted)) {
      if (Finding* const same = loaderOf(pauses)) {
        same->shareOfSteps += ratio(pauses.cost, time);
        same->isMinor = gainOf(*same) < kMinorShare;
        addPause(pauses, same->evidence);
        continue;
      }
      Finding& finding = findings_.emplace_back();
      finding.kind = FindingKind::kPauses;
      finding.remedy = remedyOf(pauses);
      finding.severity = pauses.isWanted() ? Severity::kNote : Severity::kWarning;
      if (!pauses.isWanted()) {
        finding.time = pauses.cost;
        finding.shareOfSteps = ratio(finding.time, time);
        pauses.mayBeUpdates = mayBeUpdates(pauses, ratio(ranksOf(steps), time));
        finding.isMinor = isMinor(pauses, ratio(ranksOf(steps), time));
        const int rank = pauses.areOthersWaiting ? pauses.rankOfNext : pauses.rank;
        if (rank >= 0) finding.ranks = {{rank, pauses.cost}};
      }
      addPause(pauses, finding.evidence);
      finding.facts = std::move(pauses);
    }
  }

  /// `perTime`: one over the time of a rank in all steps. Pipelines that do not pause wait for the
  /// one that does where gradients are added up.
  bool isMinor(const Pauses& pauses, double perTime) const {
    const double share = static_cast<double>(pauses.time) * perTime;
    if (pauses.reason != Pauses::Reason::kUnknown || !isAfterMostSteps(run_, pauses)) {
      return share < kMinorShare;
    }
    // One that comes after each step, for no known reason, may be all that a program needs.
    return share < 2 * kMinorShare && beyondLeast(pauses, perTime) < 2 * kMinorShare;
  }

  static double beyondLeast(const Pauses& pauses, double perTime) {
    return static_cast<double>(pauses.time - pauses.count * pauses.least) * perTime;
  }

  /// What is beyond the shortest is no update.
  bool mayBeUpdates(const Pauses& pauses, double perTime) const {
    return pauses.reason == Pauses::Reason::kUnknown && isAfterMostSteps(run_, pauses) &&
           !hasOptimizers() && beyondLeast(pauses, perTime) < 2 * kMinorShare;
  }

  /// The finding about the loader that made its pipeline pause, for which others waited; null:
  /// none.
  Finding* loaderOf(const Pauses& pauses) {
    const auto found = std::ranges::find_if(findings_, [&](const Finding& finding) {
      return finding.kind == FindingKind::kData && finding.ranks.size() == 1 &&
             finding.ranks.front().first == pauses.rank;
    });
    const bool isOne = pauses.reason == Pauses::Reason::kData && found != findings_.end();
    return isOne ? &*found : nullptr;
  }

  bool hasOptimizers() const {
    return std::ranges::any_of(graph_.nodes().first(graph_.jobCount()),
                               [](const auto& job) { return job.kind == JobKind::kOptimizer; });
  }

  void addUntracedPeers() {
    Finding finding{.kind = FindingKind::kUntracedPeers, .remedy = Remedy::kAllLogs};
    for (const std::vector<Bubble>& ofRank : run_.of.bubbles().inside) {
      for (const Bubble& each : ofRank) {
        const bool isOne = each.culprit == JobGraph::kNone && run_.counted.contains(each.step);
        if (isOne) finding.time += each.end - each.begin;
      }
    }
    if (finding.time == 0) return;
    finding.inside = finding.time;
    std::set<int> missing;
    std::vector<char> waitedFor(graph_.inside().sets().size());
    for (const InsideJobs::Meeting& each : graph_.inside().meetings()) {
      if (each.lacksLast && each.late() > 0) waitedFor[each.set] = 1;
    }
    for (std::size_t s = 0; s < waitedFor.size(); ++s) {
      if (waitedFor[s] == 0) continue;
      const InsideJobs::Set& set = graph_.inside().sets()[s];
      for (const int rank : set.partners.empty() ? set.ranks : set.partners) {
        if (!run_.of.timeline().ranks.contains(rank)) missing.insert(rank);
      }
    }
    finding.facts = UntracedPeers{{missing.begin(), missing.end()}};
    add(std::move(finding));
  }

  void addExposedCollectives() {
    if (!run_.peers.exposed()) return;
    Finding finding{.kind = FindingKind::kExposedCollectives, .remedy = Remedy::kGathersAhead};
    finding.time = finding.inside = run_.peers.exposed()->time;
    finding.facts = *run_.peers.exposed();
    add(std::move(finding));
  }

  void addContention() {
    if (!run_.peers.contention()) return;
    Finding finding{.kind = FindingKind::kContention, .remedy = Remedy::kFewerChannels};
    finding.time = finding.inside = run_.peers.contention()->time;
    Peers::Contention facts = *run_.peers.contention();
    facts.onPath = onCriticalPaths(facts);
    finding.facts = std::move(facts);
    add(std::move(finding));
  }

  /// What jobs compute longer on the critical paths of the steps that count, in the mean.
  Nanoseconds onCriticalPaths(const Peers::Contention& contention) const {
    double time = 0;
    std::int64_t steps = 0;
    for (const PipelineBasis& pipeline : run_.of.basis().pipelines()) {
      for (const BubbleWindow& window : pipeline.windows) {
        if (!run_.counted.contains(window.step)) continue;
        ++steps;
        for (const StepPath::Link& link : criticalPathOf(run_.of.basis(), pipeline, window).links) {
          const bool isBeside = std::ranges::binary_search(contention.beside, link.node);
          if (isBeside) time += static_cast<double>(graph_.ownTimeOf(link.node));
        }
      }
    }
    return std::llround(time * contention.excess() /
                        static_cast<double>(std::max<std::int64_t>(1, steps)));
  }

  void addSlowReductions() {
    // Where ranks meet inside jobs, a slow group's sums may be among these meetings.
    const auto isKnown = [&](const std::vector<int>& ranks) {
      return std::ranges::any_of(run_.peers.slowSets(),
                                 [&](const auto& set) { return set.ranks == ranks; });
    };
    for (SlowReduction& slow : slowReductionsOf(run_.of.timeline(), graph_, run_.counted)) {
      if (isKnown(slow.ranks)) continue;
      Finding finding{.kind = FindingKind::kSlowReduction,
                      .remedy = slow.hasSizes ? Remedy::kNetworkOfGroup : Remedy::kSizesOfSums};
      finding.time = slow.time;
      finding.bubbleClass = BubbleClass::kSync;
      finding.classes = {BubbleClass::kSync};
      finding.facts = std::move(slow);
      add(std::move(finding));
    }
  }

  void addSlowOptimizers() {
    for (SlowOptimizer& slow : slowOptimizersOf(run_.of, run_.counted)) {
      Finding finding{.kind = FindingKind::kSlowOptimizer, .remedy = Remedy::kFasterUpdates};
      finding.time = slow.time;
      finding.ranks = {{slow.rank, slow.time}};
      finding.culprit.rank = slow.rank;
      Examples examples;
      for (const auto& [rank, bubble] : slow.bubbles) examples.emplace_back(rank, *bubble);
      keepLongest(examples);
      addBubbles(graph_, examples, finding.evidence);
      finding.bubbleClass = BubbleClass::kSync;
      finding.classes = {BubbleClass::kSync};
      finding.facts = std::move(slow);
      add(std::move(finding));
    }
  }

  template <typename Facts = std::monostate>
  void addClasses(FindingKind kind, Remedy remedy, std::initializer_list<BubbleClass> classes,
                  const Facts& facts = {}) {
    Finding finding{.kind = kind, .remedy = remedy};
    Examples examples;
    for (const BubbleClass c : classes) {
      const auto index = static_cast<std::size_t>(c);
      finding.time += sums_.times[index];
      if (sums_.times[index] > 0) finding.classes.push_back(c);
      append(examples, sums_.longest[index]);
    }
    if (finding.time == 0) return;
    if (finding.classes.size() == 1) finding.bubbleClass = finding.classes.front();
    keepLongest(examples);
    addBubbles(graph_, examples, finding.evidence);
    finding.facts = facts;
    add(std::move(finding));
  }

  /// By how much shorter steps would be without it, as a share: those who caused it work while the
  /// others wait, so each of these waits for longer than ranks do in the mean. Causes that make
  /// their own ranks wait, too, are not told apart.
  double gainOf(const Finding& finding) const {
    if (finding.isOfMany) return finding.shareOfSteps;
    const auto* const stages = finding.factsOf<StagesBesideOthers>();
    if (stages != nullptr && !stages->isSlower()) return finding.shareOfSteps;
    if (const auto* const contention = finding.factsOf<Peers::Contention>()) {
      return ratio(contention->onPath, medianStepOf(run_.of.summary(), run_.counted).window);
    }
    std::set<int> busy;
    switch (finding.kind) {
      case FindingKind::kSlowStages:
      case FindingKind::kSlowRank:
      case FindingKind::kSlowReplica:
      case FindingKind::kLongJob:
      case FindingKind::kOftenLongJob:
      case FindingKind::kLateJob:
      case FindingKind::kData:
      case FindingKind::kSlowOptimizer:
        for (const int rank : whereaboutsOf(finding).ranks) busy.insert(rank);
        break;
      default: break;
    }
    const std::size_t all = graph_.ranks().size();
    if (busy.size() >= all) return finding.shareOfSteps;
    return finding.shareOfSteps * static_cast<double>(all) / static_cast<double>(all - busy.size());
  }

  /// Whether a finding is about ranks that work longer than others by so much of a step that it
  /// matters even if other causes hide it now: ranks that are held up anyway wait for them less.
  bool isOfClearlySlowRank(const Finding& finding) const {
    double factor = 1;
    std::optional<SlowerRanks::Change> change;
    if (const auto* rank = finding.factsOf<SlowerRanks::Rank>()) {
      change = rank->change;
      factor = change ? change->factor : rank->isSlower() ? rank->factor : 1;
    } else if (const auto* stages = finding.factsOf<StagesBesideOthers>()) {
      change = stages->change;
      factor = stages->all.isKnown ? stages->all.times : 1;
    }
    if (factor < kHiddenFactor || finding.ranks.empty()) return false;
    if (change && change->isFirstOfRun) return false;  // a first step warms up
    Nanoseconds busy = 0;
    Nanoseconds all = 0;
    for (const StepSummary& step : run_.of.summary().steps) {
      if (!run_.counted.contains(step.step)) continue;
      const bool isSlow = !change || change->has(step.step);
      for (const RankStep& rank : step.ranks) {
        if (rank.rank != finding.ranks.front().first) continue;
        if (isSlow) busy += rank.busy;
        all += step.wall();
      }
    }
    return ratio(busy, all) * (1 - 1 / factor) >= kHiddenShare;
  }

  /// Adds a finding of idle time, which has its kind and its time.
  void add(Finding finding) {
    finding.idle = sums_.idle;
    finding.share = ratio(finding.time - finding.inside, sums_.idle);
    finding.shareOfSteps = ratio(finding.time, stepTime_);
    finding.isMinor = gainOf(finding) < kMinorShare && !isOfClearlySlowRank(finding);
    const Matters matters = groupRowOf(finding.kind).matters;
    const bool isMuch = finding.share >= kWarningShare ||
                        (finding.inside > 0 && finding.shareOfSteps >= kWarningShare);
    const bool isLarge = isMuch && !finding.isMinor;
    const bool isWarning = matters == Matters::kAlways || (matters == Matters::kByShare && isLarge);
    finding.severity = isWarning ? Severity::kWarning : Severity::kNote;
    findings_.push_back(std::move(finding));
  }

  const FindingInputs& run_;
  const JobGraph& graph_;
  ClassSums sums_;
  Nanoseconds stepTime_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> findingsOf(const FindingInputs& run) { return Findings(run).all(); }

const char* findingKindName(FindingKind kind) { return groupRowOf(kind).name; }

Whereabouts whereaboutsOf(const Finding& finding) {
  Whereabouts all;
  if (finding.isOfMany) return all;
  all.stages = finding.stages;
  const bool isOfFew = isOfLateWork(finding.kind) || finding.kind == FindingKind::kData;
  for (const auto& [rank, time] : finding.ranks) {
    if (isOfFew && 2 * time < finding.ranks.front().second) continue;  // the first costs most
    all.ranks.push_back(rank);
  }
  for (const auto& [link, time] : finding.links) all.links.push_back(link);
  std::ranges::sort(all.ranks);
  std::ranges::sort(all.links);
  const auto setStep = [&](std::int32_t step) {
    if (step >= 0) all.steps = {step};
  };
  const auto setChange = [&](const std::optional<SlowerRanks::Change>& change) {
    if (!change) return;
    all.steps = change->apart;
    if (!all.steps.empty()) return;
    all.steps.resize(static_cast<std::size_t>(change->last - change->first) + 1);
    std::iota(all.steps.begin(), all.steps.end(), change->first);
  };
  if (const auto* facts = finding.factsOf<StagesBesideOthers>()) {
    all.ranks.assign(facts->ranks.begin(), facts->ranks.end());
    if (!facts->slowOnes.empty()) all.stages = facts->slowOnes;
    setChange(facts->change);
  } else if (const auto* rank = finding.factsOf<SlowerRanks::Rank>()) {
    setChange(rank->change);
  } else if (const auto* replica = finding.factsOf<SlowReplica>()) {
    all.ranks = replica->ranks;
  } else if (const auto* job = finding.factsOf<BlamedJob>()) {
    if (all.ranks.empty() && job->rank >= 0) all.ranks = {job->rank};
    setStep(job->step);
  } else if (const auto* late = finding.factsOf<LateMessage>()) {
    if (all.ranks.empty() && late->rank >= 0) all.ranks = {late->rank};
    setStep(late->step);
  } else if (const auto* messages = finding.factsOf<LongMessages>()) {
    all.links = {{messages->from, messages->to}};
    all.steps = messages->steps;
  } else if (const auto* link = finding.factsOf<LinkBesideOthers>()) {
    // The only link cannot be slower than others.
    const bool isOnlyOne = finding.kind == FindingKind::kSlowLink && !link->others;
    if (isOnlyOne) all.links.clear();
    if (link->slowWay) all.links = {*link->slowWay};
  } else if (finding.factsOf<EarlyArrivals>() != nullptr) {
    all.links = {{finding.culprit.rank, finding.culprit.peer}};
  } else if (const auto* scattered = finding.factsOf<ScatteredPauses>()) {
    all.ranks = scattered->ranks();
  } else if (const auto* pauses = finding.factsOf<Pauses>()) {
    if (!pauses->areOthersWaiting) all.ranks = pauses->ranks;
  } else if (const auto* load = finding.factsOf<Peers::Load>()) {
    all.ranks = load->ranks;
  } else if (const auto* possible = finding.factsOf<Peers::PossibleLoad>()) {
    all.ranks = possible->ranks;
  } else if (const auto* group = finding.factsOf<Peers::SlowSet>()) {
    all.ranks = group->ranks;
  } else if (const auto* sum = finding.factsOf<SlowReduction>()) {
    all.ranks = sum->ranks;
  } else if (const auto* untraced = finding.factsOf<UntracedPeers>()) {
    all.ranks = untraced->ranks;
  } else if (const auto* uneven = finding.factsOf<UnevenMicroBatches>()) {
    all.ranks.clear();
    all.stages.assign(uneven->uneven().begin(), uneven->uneven().end());
  }
  return all;
}

bool runsOnProcessors(const Timeline& timeline) {
  const auto isProcessor = [](const auto& rank) {
    return rank.second.device == "cpu" || rank.second.device == "emulated";
  };
  return !timeline.ranks.empty() &&
         std::all_of(timeline.ranks.begin(), timeline.ranks.end(), isProcessor);
}

}  // namespace pipetrace
