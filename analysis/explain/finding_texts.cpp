#include "analysis/explain/finding_texts.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "analysis/explain/held_lines.h"
#include "analysis/graph/job_name.h"
#include "analysis/median.h"
#include "chart/text/bubble_text.h"
#include "trace/text/decimal_time.h"
#include "trace/text/factor_text.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;
using CauseKind = IdleCause::Kind;

/// "rank 2", "ranks 2 and 3".
template <typename Numbers>
std::string named(const char* one, const Numbers& numbers) {
  return one + std::string(numbers.size() == 1 ? " " : "s ") +
         numbersText({numbers.begin(), numbers.end()});
}

std::string ranksOf(const IdleCause& cause) {
  std::set<int> ranks;
  for (const auto& [rank, time] : cause.ranks) ranks.insert(rank);
  return named("rank", ranks);
}

bool isOneRank(const IdleCause& cause) { return cause.ranks.size() == 1; }

/// ", from step 120 on"; empty for all steps.
std::string stretchText(const SlowerRanks::Change& change) {
  const std::string first = std::to_string(change.first);
  const std::string last = std::to_string(change.last);
  if (change.isFirstOfRun) return " until step " + last;
  if (change.isLastOfRun) return " from step " + first + " on";
  return " from step " + first + " to step " + last;
}

}  // namespace

std::string betweenRanks(LinkTimes::Link link) {
  return "messages between ranks " + std::to_string(link.first) + " and " +
         std::to_string(link.second);
}

FindingTexts::FindingTexts(const Timeline& timeline, const JobGraph& graph, const UsualTimes& times,
                           const SlowerStages& stages, const SlowerRanks& ranks,
                           const LinkTimes& links, const UnevenMicroBatches& lengths,
                           const ScatteredPauses& pauses, const CountedSteps& counted,
                           Nanoseconds idle)
    : timeline_(timeline),
      graph_(graph),
      times_(times),
      stages_(stages),
      ranks_(ranks),
      links_(links),
      lengths_(lengths),
      pauses_(pauses),
      counted_(counted),
      idle_(idle) {}

FindingText FindingTexts::of(const IdleCause& cause) const {
  const BubbleClassRow& row = rowOf(cause.group.bubbleClass);
  switch (cause.kind) {
    case CauseKind::kSlowStages: return slowStages(cause);
    case CauseKind::kSlowRank: return slowRank(cause);
    case CauseKind::kSlowReplica: return slowReplica(cause);
    case CauseKind::kLongJob: return longJob(cause);
    case CauseKind::kLongJobs: return longJobs(cause);
    case CauseKind::kUnsteadyJobs:
      return {"jobs of " + ranksOf(cause) + " now and then take longer than their medians: " +
                  "waiting for them costs " + cost(cause) + shares(cause),
              row.advice};
    case CauseKind::kUnevenMicroBatches: return unevenMicroBatches(cause);
    case CauseKind::kScatteredPauses: return scatteredPauses(cause);
    case CauseKind::kData: return data(cause);
    case CauseKind::kLateJob:
    case CauseKind::kLateJobs: return lateJobs(cause);
    case CauseKind::kHeldLines:
      return {heldLinesText(graph_, cause.group) + ": waiting for their lines costs " +
                  cost(cause) + shares(cause),
              row.advice};
    case CauseKind::kLongMessages: return longMessages(cause);
    case CauseKind::kMessages:
      return {
          "ranks wait while messages are on their way, on links that are all alike: transfers "
          "cost " +
              cost(cause) + shares(cause),
          row.advice};
    case CauseKind::kOfClass:
      return {(cause.ranks.empty() ? "" : ranksOf(cause) + ": ") + bubbleClassWords(row.of) +
                  " costs " + cost(cause) + shares(cause),
              row.advice};
    default: return link(cause);
  }
}

std::string FindingTexts::cost(const IdleCause& cause) const {
  return formatDuration(cause.group.time) + " of idle time, " +
         percentText(cause.group.time, idle_) + " of all";
}

/// " (rank 0: 40.0 %, rank 3: 30.0 %)", shares of the cause; empty for one rank or link.
std::string FindingTexts::shares(const IdleCause& cause) const {
  std::vector<std::pair<std::string, Nanoseconds>> shares;
  for (const auto& [rank, time] : cause.ranks)
    shares.emplace_back("rank " + std::to_string(rank), time);
  for (const auto& [link, time] : cause.links) {
    shares.emplace_back(
        "ranks " + std::to_string(link.first) + " and " + std::to_string(link.second), time);
  }
  constexpr std::size_t kMost = 4;
  if (shares.size() < 2) return {};
  std::string text;
  for (std::size_t i = 0; i < std::min(shares.size(), kMost); ++i) {
    text += (i == 0 ? " (" : ", ") + shares[i].first + ": " +
            percentText(shares[i].second, cause.group.time);
  }
  if (shares.size() > kMost) text += ", and " + std::to_string(shares.size() - kMost) + " more";
  return text + ")";
}

std::string FindingTexts::jobOf(const CulpritGroup& group) const {
  return jobName(timeline_, graph_.node(group.job));
}

bool FindingTexts::isOnlyStep() const {
  std::optional<std::int32_t> only;
  for (const JobGraph::Node& job : graph_.nodes().first(graph_.jobCount())) {
    if (!isCompute(job.kind) || !counted_.contains(job.step)) continue;
    if (only && *only != job.step) return false;
    only = job.step;
  }
  return true;
}

/// " in step 7", where one step has nearly all of it; else empty.
std::string FindingTexts::inStep(const CulpritGroup& group) const {
  if (!isOneStep(group) || isOnlyStep()) return {};
  return " in step " + std::to_string(group.step);
}

Id FindingTexts::longest(const CulpritGroup& group) const {
  return *std::max_element(group.outliers.begin(), group.outliers.end(), [&](Id a, Id b) {
    return graph_.node(a).end - graph_.node(a).begin < graph_.node(b).end - graph_.node(b).begin;
  });
}

/// "stage 2 (ranks 2 and 6) takes 1.30 times as long as the median of stages".
FindingText FindingTexts::slowStages(const IdleCause& cause) const {
  const bool isKnown = cause.group.stage >= 0;
  std::set<int> ranks;
  for (const std::int32_t number : cause.stages) {
    const SlowerStages::Stage& stage = stages_.of(number);
    ranks.insert(stage.ranks.begin(), stage.ranks.end());
  }
  const SlowerStages::Factor beside = stages_.besideOthers(cause.stages);
  const std::vector<std::int32_t> slow = stages_.slowOnes(cause.stages);
  if (isKnown && beside.isKnown && beside.times >= 1.005 && slow.size() < cause.stages.size()) {
    return slowStagesOfRanks(cause, slow, ranks);
  }
  const bool isOne = cause.stages.size() == 1;
  const double factor = beside.times;
  const bool isFaster = factor < 0.995;  // than what is printed as 1.00
  const bool isSlower = factor >= 1.005;
  std::string who = isKnown ? named("stage", cause.stages) : "a stage";
  if (!ranks.empty()) who += " (" + named("rank", ranks) + ")";
  std::string text = who + (isOne ? " takes " : " take ");
  if (!isFaster && !isSlower) {
    text += std::string("as long as ") + beside.others +
            ", but not with each kind of job: imbalance costs ";
    return {text + cost(cause),
            "compare forward and backward passes: pipe-trace --json has their medians by stage"};
  }
  text += beside.isKnown ? factorText(factor) + " times as long as " + beside.others
                         : "longer than others";
  const auto& change = ranks_.of(cause.group.rank).change;
  if (ranks.size() == 1 && change && !change->isBesidePeers) text += stretchText(*change);
  text += ": imbalance costs " + cost(cause);
  if (isFaster) {
    return {std::move(text), std::string("a faster stage waits for the others: give ") +
                                 (isOne ? "that stage" : "these stages") + " more layers"};
  }
  if (ranks.size() > 1) {
    const bool areAlike =
        std::none_of(ranks.begin(), ranks.end(), [&](int rank) { return ranks_.isSlow(rank); });
    const char* const who = areAlike ? "all ranks there are alike, so give "
                                     : "its faster ranks take that long, too, so give ";
    return {std::move(text),
            std::string(who) + (isOne ? "that stage" : "these stages") + " fewer layers"};
  }
  return {std::move(text),
          std::string("give ") + (isOne ? "that stage" : "these stages") + " fewer layers; if " +
              (isOne ? "it has" : "they have") +
              " no more work than the others, look at the GPU of the rank: clocks, power, "
              "temperature, other processes"};
}

/// "stage 7 takes 3.95 times as long as the median of stages, so stages 3 and 7 of rank 3 …".
FindingText FindingTexts::slowStagesOfRanks(const IdleCause& cause,
                                            const std::vector<std::int32_t>& slow,
                                            const std::set<int>& ranks) const {
  const bool isOne = slow.size() == 1;
  const SlowerStages::Factor own = stages_.besideOthers(slow);
  return {named("stage", slow) + (isOne ? " takes " : " take ") + factorText(own.times) +
              " times as long as " + own.others + ", so " + named("stage", cause.stages) + " of " +
              named("rank", ranks) + " together take " +
              factorText(stages_.besideOthers(cause.stages).times) +
              " times as long: imbalance costs " + cost(cause),
          std::string("give ") + (isOne ? "that stage" : "these stages") +
              " fewer layers: other stages of the same " + (ranks.size() == 1 ? "rank" : "ranks") +
              " take hardly longer than others"};
}

/// "rank 6 takes 1.30 times as long as the other ranks of stage 2 from step 120 on".
FindingText FindingTexts::slowRank(const IdleCause& cause) const {
  const SlowerRanks::Rank& rank = ranks_.of(cause.group.rank);
  const bool isOne = isOneRank(cause);
  std::string text = ranksOf(cause) + (isOne ? " takes " : " take ");
  if (!rank.change || rank.change->isBesidePeers) {
    text += factorText(rank.change ? rank.change->factor : rank.factor) +
            " times as long as the other ranks of " + named("stage", rank.stages);
  } else {
    text += factorText(rank.change->factor) + " times as long as in other steps";
  }
  if (rank.change) text += stretchText(*rank.change);
  text += ": waiting for " + std::string(isOne ? "it" : "them") + " costs " + cost(cause) +
          shares(cause);
  return {std::move(text), std::string("look at the GPU and the host of ") +
                               (isOne ? "that rank" : "these ranks") +
                               ": clocks, power, temperature, memory errors, other processes" +
                               (rank.change ? ", and what changed at that step" : "")};
}

/// "replica 1 (ranks 4 to 7) takes 1.50 times as long as the others".
FindingText FindingTexts::slowReplica(const IdleCause& cause) const {
  std::vector<int> ranks;
  std::vector<double> factors;
  int replica = 0;
  for (const std::uint32_t r : graph_.pipelines()[cause.pipeline]) {
    ranks.push_back(graph_.ranks()[r].number);
    factors.push_back(ranks_.of(ranks.back()).factor);
    replica = graph_.ranks()[r].replica;
  }
  std::sort(ranks.begin(), ranks.end());
  return {"pipeline " + std::to_string(replica) + " (" + ranksText(ranks) + ") takes " +
              factorText(lowerMedianOf(factors)) +
              " times as long as the others: waiting for it "
              "costs " +
              cost(cause) + shares(cause),
          "look at what its ranks have in common: the hosts and their network, power, "
          "temperature, longer inputs in its part of the data"};
}

FindingText FindingTexts::longJob(const IdleCause& cause) const {
  const CulpritGroup& group = cause.group;
  const JobGraph::Node& job = graph_.node(group.job);
  const std::string who = jobOf(group) + " of rank " + std::to_string(group.rank);
  if (isOneStep(group)) {
    return {who + " takes " + formatDuration(job.end - job.begin) + " in step " +
                std::to_string(group.step) + " (median " +
                formatDuration(times_.median(group.job)) + "): waiting for it costs " + cost(cause),
            "see what that rank did then: memory that was freed or compiled kernels, a "
            "checkpoint, another process on its host"};
  }
  // The jobs that are alike in all steps that count: whose is the longest, and how many are longer.
  const Nanoseconds usual = times_.median(group.job);
  const JobGraph::Rank& rank = graph_.ranks()[job.rank];
  int all = 0;
  int longer = 0;
  const JobGraph::Node* longest = &job;
  for (const JobGraph::Node& each : graph_.nodes().subspan(rank.first, rank.end - rank.first)) {
    const bool isAlike = each.kind == job.kind && each.stage == job.stage &&
                         each.microBatch == job.microBatch && counted_.contains(each.step);
    if (!isAlike) continue;
    ++all;
    if (each.end - each.begin > usual) ++longer;
    if (each.end - each.begin > longest->end - longest->begin) longest = &each;
  }
  return {who + " takes longer than " + formatDuration(usual) + ", the median of its stage, in " +
              std::to_string(longer) + " of " + std::to_string(all) + " steps, up to " +
              formatDuration(longest->end - longest->begin) + " in step " +
              std::to_string(longest->step) + ": waiting for it costs " + cost(cause),
          "see what is different about that micro-batch: its input, or what the program does "
          "beside it"};
}

/// A few jobs that take many times as long as the others.
FindingText FindingTexts::longJobs(const IdleCause& cause) const {
  const CulpritGroup& group = cause.group;
  const Id id = longest(group);
  const JobGraph::Node& job = graph_.node(id);
  std::string text = jobName(timeline_, job) + " of rank " + std::to_string(group.rank) +
                     " takes " + formatDuration(job.end - job.begin) + " in step " +
                     std::to_string(job.step) + " (median " + formatDuration(times_.median(id)) +
                     ")";
  const std::size_t more = group.outliers.size() - 1;
  if (more > 0) {
    text += ", and " + std::to_string(more) + " more job" + (more == 1 ? "" : "s") + " of it " +
            (more == 1 ? "takes" : "take") + " at least " + std::to_string(Outliers::kManyTimes) +
            " times as long as usual";
  }
  return {text + ": waiting for " + (more > 0 ? "them" : "it") + " costs " + cost(cause),
          "see what that rank did then: memory that was freed or compiled kernels, a "
          "checkpoint, another process on its host"};
}

FindingText FindingTexts::unevenMicroBatches(const IdleCause& cause) const {
  return {toText(lengths_) + ": waiting for the long ones costs " + cost(cause) + shares(cause),
          "balance micro-batches by tokens: fill each with sequences that take as long together, "
          "or pack sequences to one length"};
}

FindingText FindingTexts::scatteredPauses(const IdleCause& cause) const {
  return {toText(pauses_) + ": waiting for them costs " + cost(cause) + shares(cause),
          "let all ranks collect garbage at the same step: gc.disable(), and gc.collect() every N "
          "steps (Megatron-LM: --manual-gc --manual-gc-interval N)"};
}

FindingText FindingTexts::data(const IdleCause& cause) const {
  const CulpritGroup& group = cause.group;
  const JobGraph::Node& job = graph_.node(group.job);
  std::string text = ranksOf(cause) + (isOneRank(cause) ? " loads" : " load") + " data for " +
                     formatDuration(job.end - job.begin);
  text += isOneRank(cause) ? " in step " + std::to_string(group.step)
                           : " and more, as in step " + std::to_string(group.step);
  return {text + ": late starts cost " + cost(cause) + shares(cause),
          "load batches ahead of the step that needs them: more workers, faster storage"};
}

FindingText FindingTexts::lateJobs(const IdleCause& cause) const {
  const CulpritGroup& group = cause.group;
  const bool isOne = isOneRank(cause);
  std::string text = ranksOf(cause) + (isOne ? " begins " : " begin ");
  if (cause.kind == CauseKind::kLateJob) {
    text += jobOf(group) + " later than its inputs are there";
    if (const std::string step = inStep(group); !step.empty()) text += "," + step;
  } else {
    text += std::string(isOne ? "its" : "their") + " jobs later than their inputs are there";
  }
  return {text + ": late starts cost " + cost(cause) + shares(cause),
          rowOf(group.bubbleClass).advice};
}

FindingText FindingTexts::link(const IdleCause& cause) const {
  const CulpritGroup& group = cause.group;
  const LinkTimes::Link link{group.rank, group.peer};
  if (cause.kind == CauseKind::kUnloggedMessages) {
    return {"ranks wait for data of other ranks, and no message is logged: transfers cost " +
                cost(cause) + shares(cause),
            "record messages too: slow links then differ from late jobs"};
  }
  if (cause.kind == CauseKind::kUnknownSender) {
    return {"messages from a rank that is not known cost " + cost(cause),
            "give the logs of all ranks together"};
  }
  const std::string who = betweenRanks(link);
  if (cause.kind == CauseKind::kEarlyLink) {
    return {who + " arrive before they are sent: transfers cost " + cost(cause),
            "compare the clocks of the hosts; --align causal moves them"};
  }
  const std::optional<Nanoseconds> others = links_.ofOthers(link);
  return {who + " take " + formatDuration(links_.of(link)) + " (median" +
              (others ? "; other links " + formatDuration(*others) : "") + "): transfers cost " +
              cost(cause),
          others ? "look at that link: its route, its network card, other traffic on it"
                 : "see whether messages can be smaller, or the link faster"};
}

/// "a message from rank 5 to rank 6 takes 4.001 s in step 7 (median of the link 1.156 ms)".
FindingText FindingTexts::longMessages(const IdleCause& cause) const {
  const CulpritGroup& group = cause.group;
  const Id id = longest(group);
  const JobGraph::Node& message = graph_.node(id);
  const int from = graph_.ranks()[graph_.node(message.inputs[0]).rank].number;
  const int to = graph_.ranks()[message.rank].number;
  std::set<std::int32_t> steps;
  for (const Id each : group.outliers) steps.insert(graph_.node(each).step);
  std::string text = "a message from rank " + std::to_string(from) + " to rank " +
                     std::to_string(to) + " takes " + formatDuration(message.end - message.begin) +
                     " in step " + std::to_string(message.step) + " (" +
                     jobName(timeline_, graph_.node(message.inputs[0])) + "; median of the link " +
                     formatDuration(links_.of({group.rank, group.peer})) + ")";
  const std::size_t more = group.outliers.size() - 1;
  if (more > 0) {
    text += ", and " + std::to_string(more) + " more there " + (more == 1 ? "takes" : "take") +
            " at least " + std::to_string(Outliers::kManyTimes) + " times as long as usual";
    if (steps.size() > 1) text += ", in steps " + numbersText({steps.begin(), steps.end()});
  }
  return {text + ": waiting for " + (more > 0 ? "them" : "it") + " costs " + cost(cause),
          "look at the network and at both hosts at that time: a connection that was cut, a "
          "process that was stopped"};
}

}  // namespace pipetrace
