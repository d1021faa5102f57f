#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/explain/finding.h"
#include "analysis/explain/link_times.h"
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
/// Clocks are read less exactly than that.
constexpr Nanoseconds kLeastEarly = 10 * kNsPerUs;

std::string factorText(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", factor);
  return text;
}

std::string betweenRanks(LinkTimes::Link link) {
  return "messages between ranks " + std::to_string(link.first) + " and " +
         std::to_string(link.second);
}

/// The message between two ranks that is received longest before it is sent.
Id earliestMessage(const JobGraph& graph, LinkTimes::Link link) {
  Id earliest = JobGraph::kNone;
  Nanoseconds least = kNsMax;
  for (auto id = static_cast<Id>(graph.jobCount()); id < graph.messageEnd(); ++id) {
    const JobGraph::Node& node = graph.node(id);
    if (node.inputs[0] == JobGraph::kNone || node.end - node.begin >= least) continue;
    const int from = graph.ranks()[graph.node(node.inputs[0]).rank].number;
    const int to = graph.ranks()[node.rank].number;
    if (std::pair(std::min(from, to), std::max(from, to)) != link) continue;
    earliest = id;
    least = node.end - node.begin;
  }
  return earliest;
}

/// Clocks that differ make all else doubtful.
void addEarlyMessages(const JobGraph& graph, const LinkTimes& links,
                      std::vector<Finding>& findings) {
  const auto& early = links.early();
  const auto most = std::max_element(
      early.begin(), early.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == early.end() || most->second < kLeastEarly) return;
  Finding finding{.severity = Severity::kWarning, .text = betweenRanks(most->first)};
  if (early.size() > 1) {
    finding.text += " and on " + std::to_string(early.size() - 1) + " more link" +
                    (early.size() == 2 ? "" : "s");
  }
  finding.text += " arrive before they are sent, by " + formatDuration(most->second) +
                  " in the median: clocks differ, so that idle time may have the wrong culprits";
  finding.culprit.rank = most->first.first;
  finding.culprit.peer = most->first.second;
  finding.earliestMessage = earliestMessage(graph, most->first);
  findings.push_back(std::move(finding));
}

class FindingTexts {
 public:
  FindingTexts(const Timeline& timeline, const RunBasis& basis, const SlowerStages& stages,
               Nanoseconds idle)
      : timeline_(timeline),
        basis_(basis),
        graph_(basis.graph()),
        links_(basis.graph()),
        stages_(stages),
        idle_(idle) {}

  const LinkTimes& links() const { return links_; }

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
    const auto others = static_cast<double>(links_.ofOthers(link).value_or(0));
    const auto own = static_cast<double>(links_.of(link));
    return others > 0 && !links_.isEarly(link) && own < kSlowLink * others;
  }

  /// Whether the messages of a group's link are received before they are sent.
  bool isEarlyLink(const CulpritGroup& group) const {
    return group.bubbleClass == BubbleClass::kTransfer && links_.isEarly({group.rank, group.peer});
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
    const std::string who =
        group.rank < 0 ? "messages from a rank that is not known" : betweenRanks(link);
    if (links_.empty()) return who + " cost " + cost(group) + " (inferred: none is logged)";
    if (isEarlyLink(group)) {
      return who + " arrive before they are sent: transfers cost " + cost(group);
    }
    const std::optional<Nanoseconds> others = links_.ofOthers(link);
    return who + " take " + formatDuration(links_.of(link)) + " (median" +
           (others ? "; other links " + formatDuration(*others) : "") + "): transfers cost " +
           cost(group);
  }

  /// Whether a part is at least four fifths. Products of long times would overflow.
  static bool isMost(Nanoseconds part, Nanoseconds whole) { return part >= whole - whole / 5; }
  /// One job has most of the time, in every step or in one.
  bool isOneJob(const CulpritGroup& group) const { return isMost(group.timeOfJob, group.time); }
  bool isOneStep(const CulpritGroup& group) const {
    return isOneJob(group) && isMost(group.timeOfStep, group.timeOfJob);
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
  const SlowerStages& stages_;
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

/// The steps of the pipelines that no rank is missing of. Where one is, the time between steps may
/// be warm-up and drain.
RunSummary stepsOfWholePipelines(const RunBasis& basis, const RunSummary& summary) {
  std::set<int> whole;
  for (const PipelineBasis& pipeline : basis.pipelines()) {
    const bool isWhole = std::none_of(pipeline.windows.begin(), pipeline.windows.end(),
                                      [](const BubbleWindow& window) { return window.lacksRanks; });
    if (isWhole) whole.insert(pipeline.replica);
  }
  RunSummary steps;
  for (const StepSummary& step : summary.steps) {
    if (whole.contains(step.replica)) steps.steps.push_back(step);
  }
  return steps;
}

using Examples = std::vector<std::pair<std::uint32_t, Bubble>>;

/// The longest bubbles of each class.
std::array<Examples, kBubbleClassCount> longestOfClasses(const Bubbles& bubbles) {
  std::array<Examples, kBubbleClassCount> longest;
  const auto length = [](const auto& example) { return example.second.end - example.second.begin; };
  for (std::uint32_t rank = 0; rank < bubbles.byRank.size(); ++rank) {
    for (const Bubble& bubble : bubbles.byRank[rank]) {
      Examples& examples = longest[static_cast<std::size_t>(bubble.bubbleClass)];
      const bool isFull = examples.size() == kMostExamples;
      if (isFull && bubble.end - bubble.begin <= length(examples.back())) continue;
      if (isFull) examples.pop_back();
      examples.emplace_back(rank, bubble);
      std::stable_sort(examples.begin(), examples.end(),
                       [&](const auto& a, const auto& b) { return length(a) > length(b); });
    }
  }
  return longest;
}

/// Why more is unknown than the causes that were not found; empty: nothing is.
std::string whyUnknown(const RunBasis& basis) {
  for (const PipelineBasis& pipeline : basis.pipelines()) {
    const bool lacksPlan = std::any_of(
        pipeline.windows.begin(), pipeline.windows.end(),
        [](const BubbleWindow& window) { return window.lacksRanks && !window.hasPlan; });
    if (lacksPlan) {
      return "; the schedule's own share is part of it, as ranks have no logs and the others "
             "do not show the schedule";
    }
  }
  return {};
}

}  // namespace

const char* noFindingsText(const Bubbles& bubbles) {
  const bool isIdle = std::any_of(bubbles.byRank.begin(), bubbles.byRank.end(),
                                  [](const auto& ofRank) { return !ofRank.empty(); });
  return isIdle ? "no cause of idle time has 0.5 % of it" : "no idle time";
}

std::vector<Finding> findingsOf(const Timeline& timeline, const RunBasis& basis,
                                const SlowerStages& stages, const Bubbles& bubbles,
                                const Culprits& culprits, const RunSummary& summary) {
  ClassTimes times{};
  for (std::uint32_t rank = 0; rank < bubbles.byRank.size(); ++rank) {
    const ClassTimes& own = bubbles.times[rank];
    for (std::size_t c = 0; c < times.size(); ++c) times[c] += own[c];
  }
  Nanoseconds idle = 0;
  for (const Nanoseconds time : times) idle += time;
  std::vector<Finding> findings;
  const FindingTexts texts(timeline, basis, stages, idle);
  const auto shareOf = [&](Nanoseconds time) {
    return idle > 0 ? static_cast<double>(time) / static_cast<double>(idle) : 0.0;
  };
  addEarlyMessages(basis.graph(), texts.links(), findings);
  for (const CulpritGroup& group : withOneOfUsualLinks(culprits.groups, texts)) {
    const double share = shareOf(group.time);
    if (share < kLeastShare) continue;
    const bool isWarning = share >= kWarningShare || texts.isEarlyLink(group);
    findings.push_back({.severity = isWarning ? Severity::kWarning : Severity::kNote,
                        .text = texts.of(group),
                        .bubbleClass = group.bubbleClass,
                        .classes = {group.bubbleClass},
                        .time = group.time,
                        .share = share,
                        .culprit = group,
                        .examples = group.examples});
  }
  for (Pauses& pauses : pausesOf(timeline, stepsOfWholePipelines(basis, summary))) {
    findings.push_back({.severity = Severity::kWarning, .text = toText(pauses)});
    findings.back().pauses = std::move(pauses);
  }
  const auto longest = longestOfClasses(bubbles);
  const auto addClass = [&](std::initializer_list<BubbleClass> classes, const std::string& text,
                            const std::string& why = {}) {
    Finding finding;
    for (const BubbleClass c : classes) {
      const Nanoseconds time = times[static_cast<std::size_t>(c)];
      if (time > 0) finding.classes.push_back(c);
      finding.time += time;
    }
    for (const BubbleClass c : finding.classes) {
      const Examples& own = longest[static_cast<std::size_t>(c)];
      finding.examples.insert(finding.examples.end(), own.begin(), own.end());
    }
    std::stable_sort(finding.examples.begin(), finding.examples.end(),
                     [](const auto& a, const auto& b) {
                       return a.second.end - a.second.begin > b.second.end - b.second.begin;
                     });
    finding.examples.resize(std::min(finding.examples.size(), kMostExamples));
    finding.share = shareOf(finding.time);
    if (finding.share < kLeastShare) return;
    if (finding.classes.size() == 1) finding.bubbleClass = finding.classes.front();
    finding.text =
        text + " " + formatDuration(finding.time) + ", " + percentText(finding.time, idle) + why;
    findings.push_back(std::move(finding));
  };
  addClass({BubbleClass::kWarmUp, BubbleClass::kSteady, BubbleClass::kDrain},
           "of the idle time the schedule itself leaves");
  addClass({BubbleClass::kSync}, "of the idle time optimizers and collectives take");
  addClass({BubbleClass::kUnknown}, "of the idle time no cause is known for", whyUnknown(basis));
  return findings;
}

}  // namespace pipetrace
