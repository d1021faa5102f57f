#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/explain/finding.h"
#include "analysis/graph/job_name.h"
#include "analysis/median.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

/// A share of the idle time from which on a finding is a warning, and one below which nobody wants
/// to know.
constexpr double kWarningShare = 0.05;
constexpr double kLeastShare = 0.005;
/// A link is slow if its messages take that many times as long as those of other links.
constexpr double kSlowLink = 1.2;

std::string factorText(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", factor);
  return text;
}

/// How long the messages of each link are; lower rank first.
class LinkTimes {
 public:
  explicit LinkTimes(const JobGraph& graph) {
    std::map<std::pair<int, int>, std::vector<Nanoseconds>> lengths;
    std::vector<Nanoseconds>* latest = nullptr;  // most messages follow one of their link
    std::pair<int, int> latestLink;
    for (std::size_t id = graph.jobCount(); id < graph.messageEnd(); ++id) {
      const JobGraph::Node& node = graph.node(static_cast<Id>(id));
      if (node.inputs[0] == JobGraph::kNone) continue;
      const int to = graph.ranks()[node.rank].number;
      const int from = graph.ranks()[graph.node(node.inputs[0]).rank].number;
      const std::pair link{std::min(from, to), std::max(from, to)};
      if (latest == nullptr || link != latestLink) latest = &lengths[latestLink = link];
      latest->push_back(node.end - node.begin);
    }
    for (auto& [link, times] : lengths) medians_[link] = medianOf(times);
  }

  bool empty() const { return medians_.empty(); }
  Nanoseconds of(std::pair<int, int> link) const {
    const auto found = medians_.find(link);
    return found == medians_.end() ? 0 : found->second;
  }
  /// The median of the other links' medians.
  Nanoseconds ofOthers(std::pair<int, int> link) const {
    std::vector<Nanoseconds> others;
    for (const auto& [each, median] : medians_) {
      if (each != link) others.push_back(median);
    }
    return medianOf(others);
  }

 private:
  std::map<std::pair<int, int>, Nanoseconds> medians_;
};

/// How much longer the jobs of each stage are than those of the others.
class SlowerStages {
 public:
  explicit SlowerStages(const RunBasis& basis) {
    const JobGraph& graph = basis.graph();
    std::set<std::tuple<int, std::int32_t, JobKind>> known;
    for (const JobGraph::Rank& rank : graph.ranks()) {
      for (Id id = rank.first; id < rank.end; ++id) {
        const JobGraph::Node& job = graph.node(id);
        if (!isCompute(job.kind) || !known.insert({rank.number, job.stage, job.kind}).second) {
          continue;
        }
        Stage& stage = stages_[job.stage];
        stage.own += static_cast<double>(basis.times().median(id));
        stage.usual += static_cast<double>(basis.times().balanced(id));
        stage.ranks.insert(rank.number);
      }
    }
  }

  struct Stage {
    double own = 0;
    double usual = 0;
    std::set<int> ranks;
  };
  const Stage& of(std::int32_t stage) const { return stages_.at(stage); }

 private:
  std::map<std::int32_t, Stage> stages_;
};

class FindingTexts {
 public:
  FindingTexts(const Timeline& timeline, const RunBasis& basis, Nanoseconds idle)
      : timeline_(timeline),
        basis_(basis),
        graph_(basis.graph()),
        links_(basis.graph()),
        stages_(basis),
        idle_(idle) {}

  std::string of(const CulpritGroup& group) const {
    switch (group.bubbleClass) {
      case BubbleClass::kImbalance: return imbalance(group);
      case BubbleClass::kTransfer: return transfer(group);
      case BubbleClass::kLaunch: return launch(group);
      default: return peerWait(group);
    }
  }

  /// Whether a group's link is as fast as the others, so that it is no culprit by itself.
  bool isUsualLink(const CulpritGroup& group) const {
    if (group.bubbleClass != BubbleClass::kTransfer) return false;
    const std::pair<int, int> link{group.rank, group.peer};
    const auto others = static_cast<double>(links_.ofOthers(link));
    return others > 0 && static_cast<double>(links_.of(link)) < kSlowLink * others;
  }

 private:
  std::string cost(const CulpritGroup& group) const {
    return formatDuration(group.time) + " of idle time, " + percentText(group.time, idle_) +
           " of all";
  }

  /// "stage 2 (rank 2) takes 1.30 times as long as the median of stages".
  std::string imbalance(const CulpritGroup& group) const {
    const SlowerStages::Stage& stage = stages_.of(group.stage);
    std::string who = group.stage < 0 ? "a stage" : "stage " + std::to_string(group.stage);
    if (stage.ranks.size() == 1) who += " (rank " + std::to_string(*stage.ranks.begin()) + ")";
    const std::string much = stage.usual > 0 ? factorText(stage.own / stage.usual) +
                                                   " times as long as the median of stages"
                                             : "longer than others";
    return who + " takes " + much + ": imbalance costs " + cost(group);
  }

  std::string transfer(const CulpritGroup& group) const {
    const std::pair<int, int> link{group.rank, group.peer};
    if (isUsualLink(group)) {
      return "messages take " + formatDuration(links_.of(link)) +
             " on links like the others: transfers cost " + cost(group);
    }
    const std::string who = group.rank < 0
                                ? "messages from a rank that is not known"
                                : "messages between ranks " + std::to_string(group.rank) + " and " +
                                      std::to_string(group.peer);
    if (links_.empty()) return who + " cost " + cost(group) + " (inferred: none is logged)";
    return who + " take " + formatDuration(links_.of(link)) + " (median; other links " +
           formatDuration(links_.ofOthers(link)) + "): transfers cost " + cost(group);
  }

  /// One job has most of the time, in every step or in one.
  bool isOneJob(const CulpritGroup& group) const { return 5 * group.timeOfJob >= 4 * group.time; }
  bool isOneStep(const CulpritGroup& group) const {
    return isOneJob(group) && 5 * group.timeOfStep >= 4 * group.timeOfJob;
  }

  std::string jobOf(const CulpritGroup& group) const {
    return jobName(timeline_, graph_.node(group.job));
  }

  std::string launch(const CulpritGroup& group) const {
    const JobGraph::Node& job = graph_.node(group.job);
    const std::string rank = "rank " + std::to_string(group.rank);
    std::string text = rank + " begins its jobs later than their inputs are there";
    if (job.kind == JobKind::kData) {
      text = rank + " loads data for " + formatDuration(job.end - job.begin) + " in step " +
             std::to_string(group.step);
    } else if (isOneJob(group)) {
      text = rank + " begins " + jobOf(group) + " later than its inputs are there";
      if (isOneStep(group) && !isOnlyStep()) text += ", in step " + std::to_string(group.step);
    }
    return text + ": launches cost " + cost(group);
  }

  std::string peerWait(const CulpritGroup& group) const {
    const JobGraph::Node& job = graph_.node(group.job);
    const std::string rank = "rank " + std::to_string(group.rank);
    std::string text = "jobs of " + rank + " often take longer than their medians";
    if (isOneStep(group)) {
      text = jobOf(group) + " of " + rank + " takes " + formatDuration(job.end - job.begin) +
             " in step " + std::to_string(group.step) + " (median " +
             formatDuration(basis_.times().median(group.job)) + ")";
    } else if (isOneJob(group)) {
      text = jobOf(group) + " of " + rank + " often takes longer than " +
             formatDuration(basis_.times().median(group.job)) + ", the median of its stage";
    }
    return text + ": waiting for it costs " + cost(group);
  }

  bool isOnlyStep() const {
    return std::all_of(basis_.pipelines().begin(), basis_.pipelines().end(),
                       [](const PipelineBasis& p) { return p.jobs.steps().size() == 1; });
  }

  const Timeline& timeline_;
  const RunBasis& basis_;
  const JobGraph& graph_;
  LinkTimes links_;
  SlowerStages stages_;
  Nanoseconds idle_;
};

/// The groups with those of links like the others as one, named after its largest; the largest
/// first.
std::vector<CulpritGroup> withOneOfUsualLinks(const std::vector<CulpritGroup>& groups,
                                              const FindingTexts& texts) {
  std::vector<CulpritGroup> result;
  std::optional<std::size_t> usual;
  for (const CulpritGroup& group : groups) {
    const bool isUsual = texts.isUsualLink(group);
    if (isUsual && usual) {
      result[*usual].time += group.time;
      continue;
    }
    if (isUsual) usual = result.size();
    result.push_back(group);
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.time > b.time; });
  return result;
}

/// Time that the run stood still between steps: the pauses that are longer than the others.
void addPauses(const RunSummary& summary, std::vector<Finding>& findings) {
  std::vector<Nanoseconds> pauses;
  std::vector<Nanoseconds> lengths;
  for (const StepSummary& step : summary.steps) {
    if (step.betweenSteps > 0) pauses.push_back(step.betweenSteps);
    lengths.push_back(step.duration());
  }
  if (pauses.empty()) return;
  const Nanoseconds usual = medianOf(pauses);
  const Nanoseconds step = medianOf(lengths);
  const StepSummary* longest = nullptr;
  Nanoseconds all = 0;
  int count = 0;
  for (const StepSummary& each : summary.steps) {
    const bool isStall =
        each.betweenSteps > step / 10 && (each.betweenSteps > 3 * usual || usual > step / 10);
    if (!isStall) continue;
    ++count;
    all += each.betweenSteps;
    if (longest == nullptr || each.betweenSteps > longest->betweenSteps) longest = &each;
  }
  if (longest == nullptr) return;
  Finding finding{.severity = Severity::kWarning};
  finding.text = "the run stands still after step " + std::to_string(longest->step) + " for " +
                 formatDuration(longest->betweenSteps);
  if (count > 1) {
    finding.text += ", and after " + std::to_string(count - 1) +
                    (count == 2 ? " more step: " : " more steps: ") + formatDuration(all) +
                    " in all";
  }
  finding.text += " (data, a checkpoint or an evaluation between steps)";
  findings.push_back(std::move(finding));
}

}  // namespace

std::vector<Finding> findingsOf(const Timeline& timeline, const RunBasis& basis,
                                const Bubbles& bubbles, const Culprits& culprits,
                                const RunSummary& summary) {
  ClassTimes times{};
  for (std::uint32_t rank = 0; rank < bubbles.byRank.size(); ++rank) {
    const ClassTimes own = bubbles.times(rank);
    for (std::size_t c = 0; c < times.size(); ++c) times[c] += own[c];
  }
  Nanoseconds idle = 0;
  for (const Nanoseconds time : times) idle += time;
  std::vector<Finding> findings;
  const FindingTexts texts(timeline, basis, idle);
  const auto shareOf = [&](Nanoseconds time) {
    return idle > 0 ? static_cast<double>(time) / static_cast<double>(idle) : 0.0;
  };
  for (const CulpritGroup& group : withOneOfUsualLinks(culprits.groups, texts)) {
    const double share = shareOf(group.time);
    if (share < kLeastShare) continue;
    findings.push_back({.severity = share < kWarningShare ? Severity::kNote : Severity::kWarning,
                        .text = texts.of(group),
                        .bubbleClass = group.bubbleClass,
                        .time = group.time,
                        .share = share,
                        .culprit = group});
  }
  addPauses(summary, findings);
  const auto addClass = [&](std::initializer_list<BubbleClass> classes, const std::string& text) {
    Finding finding{.bubbleClass = *classes.begin()};
    for (const BubbleClass c : classes) finding.time += times[static_cast<std::size_t>(c)];
    if (finding.time == 0) return;
    finding.share = shareOf(finding.time);
    finding.text =
        text + " " + formatDuration(finding.time) + ", " + percentText(finding.time, idle);
    findings.push_back(std::move(finding));
  };
  addClass({BubbleClass::kWarmUp, BubbleClass::kSteady, BubbleClass::kDrain},
           "of the idle time the schedule itself leaves");
  addClass({BubbleClass::kSync}, "of the idle time optimizers and collectives take");
  addClass({BubbleClass::kUnknown}, "of the idle time no cause is known for");
  return findings;
}

}  // namespace pipetrace
