#include "analysis/explain/causes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "analysis/median.h"

namespace pipetrace {
namespace {

using CauseKind = IdleCause::Kind;

/// Products of long times would overflow.
bool isMost(Nanoseconds part, Nanoseconds whole) { return part >= whole - whole / 5; }

CauseKind messageCauseOf(const CulpritGroup& group, const LinkTimes& links) {
  if (!group.outliers.empty()) return CauseKind::kLongMessages;
  const LinkTimes::Link link{group.rank, group.peer};
  if (group.rank < 0) return CauseKind::kUnknownSender;
  if (links.empty()) return CauseKind::kUnloggedMessages;
  if (links.isEarly(link)) return CauseKind::kEarlyLink;
  const auto others = static_cast<double>(links.ofOthers(link).value_or(0));
  const bool isUsual =
      others > 0 && static_cast<double>(links.of(link)) < LinkTimes::kSlow * others;
  return isUsual ? CauseKind::kMessages : CauseKind::kSlowLink;
}

/// Whether the rank is slower than its peers, and the job with most of the group no longer than
/// others of its rank and step: it only stands for them.
bool isSlowLikeItsRank(const JobGraph& graph, const CulpritGroup& group, const SlowerRanks& ranks) {
  constexpr double kLonger = 1.1;
  if (ranks.of(group.rank).factor < SlowerRanks::kSlow) return false;
  const JobGraph::Node& job = graph.node(group.job);
  const JobGraph::Rank& rank = graph.ranks()[job.rank];
  std::vector<Nanoseconds> durations;
  for (const JobGraph::Node& each : graph.nodes().subspan(rank.first, rank.end - rank.first)) {
    const bool isAlike = each.kind == job.kind && each.stage == job.stage && each.step == job.step;
    if (isAlike) durations.push_back(each.end - each.begin);
  }
  const auto usual = static_cast<double>(lowerMedianOf(durations));
  return static_cast<double>(job.end - job.begin) < kLonger * usual && durations.size() > 1;
}

/// By rank: the index of its pipeline, if all ranks of that are slower than their peers and some
/// pipeline has none that is.
class SlowReplicas {
 public:
  SlowReplicas(const JobGraph& graph, const SlowerRanks& ranks) {
    const auto isSlow = [&](std::uint32_t r) {
      const SlowerRanks::Rank& rank = ranks.of(graph.ranks()[r].number);
      return rank.factor >= SlowerRanks::kSlow && !rank.change;
    };
    bool hasOther = false;
    for (std::size_t p = 0; p < graph.pipelines().size(); ++p) {
      const std::vector<std::uint32_t>& members = graph.pipelines()[p];
      hasOther = hasOther || std::none_of(members.begin(), members.end(), isSlow);
      if (members.size() < 2 || !std::all_of(members.begin(), members.end(), isSlow)) continue;
      for (const std::uint32_t r : members) pipelineOf_[graph.ranks()[r].number] = p;
    }
    if (!hasOther) pipelineOf_.clear();
  }
  const std::size_t* of(int rank) const {
    const auto found = pipelineOf_.find(rank);
    return found == pipelineOf_.end() ? nullptr : &found->second;
  }

 private:
  std::map<int, std::size_t> pipelineOf_;
};

/// Whether most of the jobs of a group that is of a few jobs alone are pauses.
bool areScattered(const CulpritGroup& group, const ScatteredPauses& pauses) {
  const auto count = std::count_if(group.outliers.begin(), group.outliers.end(),
                                   [&](JobGraph::Id job) { return pauses.contains(job); });
  return 2 * static_cast<std::size_t>(count) > group.outliers.size();
}

CauseKind causeKindOf(const JobGraph& graph, const CulpritGroup& group, const SlowerRanks& ranks,
                      const LinkTimes& links, const UnevenMicroBatches& lengths,
                      const ScatteredPauses& pauses) {
  const bool isTransfer = group.bubbleClass == BubbleClass::kTransfer;
  if (!isTransfer && areScattered(group, pauses)) return CauseKind::kScatteredPauses;
  switch (group.bubbleClass) {
    case BubbleClass::kImbalance: return CauseKind::kSlowStages;
    case BubbleClass::kTransfer: return messageCauseOf(group, links);
    case BubbleClass::kBlocked: return CauseKind::kHeldLines;
    case BubbleClass::kLateStart:
      if (loadsData(graph.node(group.job).kind)) return CauseKind::kData;
      return isOneJob(group) ? CauseKind::kLateJob : CauseKind::kLateJobs;
    case BubbleClass::kPeerWait:
      if (!group.outliers.empty()) return CauseKind::kLongJobs;
      if (!ranks.isSlow(group.rank) && lengths.isShownBy(graph.node(group.job).stage)) {
        return CauseKind::kUnevenMicroBatches;
      }
      if (isOneJob(group) && !isSlowLikeItsRank(graph, group, ranks)) return CauseKind::kLongJob;
      return ranks.isSlow(group.rank) ? CauseKind::kSlowRank : CauseKind::kUnsteadyJobs;
    default: return CauseKind::kOfClass;
  }
}

/// Groups with equal keys have one cause.
using CauseKey = std::tuple<CauseKind, int, int, std::vector<int>>;

CauseKey causeKeyOf(const IdleCause& cause, const SlowerStages& stages, const SlowerRanks& ranks,
                    int number) {
  switch (cause.kind) {
    case CauseKind::kSlowStages: {
      if (cause.group.stage < 0) break;
      const std::set<int>& all = stages.of(cause.group.stage).ranks;
      return {cause.kind, 0, 0, {all.begin(), all.end()}};
    }
    case CauseKind::kSlowRank:
      // Ranks that all became slow at one time are one cause.
      if (const auto& change = ranks.of(cause.group.rank).change;
          change && !change->isBesidePeers) {
        return {cause.kind, change->first, change->last, {}};
      }
      break;
    case CauseKind::kSlowReplica: return {cause.kind, 0, static_cast<int>(cause.pipeline), {}};
    case CauseKind::kUnsteadyJobs:
    case CauseKind::kUnevenMicroBatches:
    case CauseKind::kScatteredPauses:
    case CauseKind::kData:
    case CauseKind::kLateJobs:
    case CauseKind::kMessages:
    case CauseKind::kHeldLines:
    case CauseKind::kUnloggedMessages: return {cause.kind, 0, 0, {}};
    case CauseKind::kOfClass: return {cause.kind, 0, static_cast<int>(cause.group.bubbleClass), {}};
    default: break;
  }
  return {cause.kind, 1, number, {}};
}

void join(IdleCause& into, const IdleCause& cause) {
  into.group.time += cause.group.time;
  auto& examples = into.group.examples;
  examples.insert(examples.end(), cause.group.examples.begin(), cause.group.examples.end());
  into.group.fronts.insert(into.group.fronts.end(), cause.group.fronts.begin(),
                           cause.group.fronts.end());
  into.ranks.insert(into.ranks.end(), cause.ranks.begin(), cause.ranks.end());
  into.links.insert(into.links.end(), cause.links.begin(), cause.links.end());
  into.stages.insert(into.stages.end(), cause.stages.begin(), cause.stages.end());
}

}  // namespace

bool isOneJob(const CulpritGroup& group) { return isMost(group.timeOfJob, group.time); }

bool isOneStep(const CulpritGroup& group) {
  return isOneJob(group) && isMost(group.timeOfStep, group.timeOfJob);
}

std::vector<IdleCause> causesOf(const JobGraph& graph, const Culprits& culprits,
                                const SlowerStages& stages, const SlowerRanks& ranks,
                                const LinkTimes& links, const UnevenMicroBatches& lengths,
                                const ScatteredPauses& pauses) {
  const SlowReplicas replicas(graph, ranks);
  std::vector<IdleCause> causes;
  std::map<CauseKey, std::size_t> known;
  int number = 0;
  for (const CulpritGroup& group : culprits.groups) {  // the largest first
    IdleCause cause{.kind = causeKindOf(graph, group, ranks, links, lengths, pauses),
                    .group = group};
    if (rowOf(group.bubbleClass).blame == BubbleBlame::kLink) {
      cause.links = {{{group.rank, group.peer}, group.time}};
    } else {
      cause.ranks = {{group.rank, group.time}};
    }
    if (cause.kind == CauseKind::kSlowStages) cause.stages = {group.stage};
    const std::size_t* const pipeline =
        cause.kind == CauseKind::kSlowRank ? replicas.of(group.rank) : nullptr;
    if (pipeline != nullptr) {
      cause.kind = CauseKind::kSlowReplica;
      cause.pipeline = *pipeline;
    }
    const auto [place, isNew] =
        known.try_emplace(causeKeyOf(cause, stages, ranks, number++), causes.size());
    if (isNew) {
      causes.push_back(std::move(cause));
    } else {
      join(causes[place->second], cause);
    }
  }
  const auto length = [](const auto& example) { return example.second.end - example.second.begin; };
  for (IdleCause& cause : causes) {
    auto& examples = cause.group.examples;
    std::stable_sort(examples.begin(), examples.end(),
                     [&](const auto& a, const auto& b) { return length(a) > length(b); });
    examples.resize(std::min(examples.size(), kMostExamples));
    std::sort(cause.stages.begin(), cause.stages.end());
  }
  std::stable_sort(causes.begin(), causes.end(), [](const IdleCause& a, const IdleCause& b) {
    return a.group.time > b.group.time;
  });
  return causes;
}

}  // namespace pipetrace
