#include "analysis/present/finding_sentences.h"

#include <algorithm>
#include <array>

#include "chart/text/bubble_text.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

template <typename Facts>
const Facts& factsOf(const Finding& finding) {
  return std::get<Facts>(finding.facts);
}

/// "rank 2", "ranks 2 and 3".
template <typename Numbers>
std::string named(const char* one, const Numbers& numbers) {
  return one + std::string(numbers.size() == 1 ? " " : "s ") +
         numbersText({numbers.begin(), numbers.end()});
}

std::string ranksOf(const Finding& finding) {
  std::set<int> ranks;
  for (const auto& [rank, time] : finding.ranks) ranks.insert(rank);
  return named("rank", ranks);
}

bool isOneRank(const Finding& finding) { return finding.ranks.size() == 1; }

bool isOneStage(const Finding& finding) { return finding.stages.size() <= 1; }

std::string thatStage(const Finding& finding) {
  return isOneStage(finding) ? "that stage" : "these stages";
}

/// "ranks 0 and 1". Where a rank waits for itself, it was the last member of a collective.
std::string linkText(int first, int second) {
  return first == second ? "collectives of rank " + std::to_string(first)
                         : "ranks " + std::to_string(first) + " and " + std::to_string(second);
}

/// "messages between ranks 0 and 1".
std::string messagesOf(const Finding& finding) {
  const int rank = finding.culprit.rank;
  const int peer = finding.culprit.peer;
  return (rank == peer ? "" : "messages between ") + linkText(rank, peer);
}

/// What jobs waited inside for other ranks is no idle time.
std::string costOf(const Finding& finding) {
  if (finding.inside > 0) {
    const Nanoseconds idle = finding.time - finding.inside;
    const std::string inside = formatDuration(finding.inside) + " inside jobs";
    if (idle == 0) return inside;
    return formatDuration(idle) + " of idle time, " + percentText(idle, finding.idle) +
           " of all, and " + inside;
  }
  return formatDuration(finding.time) + " of idle time, " +
         percentText(finding.time, finding.idle) + " of all";
}

/// " (rank 0: 40.0 %, rank 3: 30.0 %)", shares of the finding; empty for one rank or link.
std::string sharesOf(const Finding& finding) {
  std::vector<std::pair<std::string, Nanoseconds>> shares;
  for (const auto& [rank, time] : finding.ranks)
    shares.emplace_back("rank " + std::to_string(rank), time);
  for (const auto& [link, time] : finding.links) {
    shares.emplace_back(linkText(link.first, link.second), time);
  }
  constexpr std::size_t kMost = 4;
  if (shares.size() < 2) return {};
  std::string text;
  for (std::size_t i = 0; i < std::min(shares.size(), kMost); ++i) {
    text += (i == 0 ? " (" : ", ") + shares[i].first + ": " +
            percentText(shares[i].second, finding.time);
  }
  if (shares.size() > kMost) text += ", and " + std::to_string(shares.size() - kMost) + " more";
  return text + ")";
}

/// " from step 120 on", " in step 2", " in steps 2, 5 and 6"; empty for all steps.
std::string stretchText(const SlowerRanks::Change& change) {
  if (!change.apart.empty()) return " in " + named("step", change.apart);
  const std::string first = std::to_string(change.first);
  const std::string last = std::to_string(change.last);
  if (change.first == change.last) return " in step " + first;
  if (change.isFirstOfRun) return " until step " + last;
  if (change.isLastOfRun) return " from step " + first + " on";
  return " from step " + first + " to step " + last;
}

/// ": waiting for it costs 12.0 ms of idle time, 30.0 % of all".
std::string waitingFor(const std::string& whom, const Finding& finding) {
  return ": waiting for " + whom + " costs " + costOf(finding);
}

std::string earlyMessagesText(const Finding& finding) {
  const auto& facts = factsOf<EarlyArrivals>(finding);
  std::string text = messagesOf(finding);
  if (facts.moreLinks > 0) text += " and on " + countText(facts.moreLinks, "more link");
  return text + " arrive before they are sent, by " + formatDuration(facts.by) +
         " in the median: clocks differ, so that idle time may have the wrong culprits";
}

/// "stage 7 takes 3.95 times as long as the median of stages, so stages 3 and 7 of rank 3 …".
std::string slowOnesOfStagesText(const Finding& finding, const StagesBesideOthers& facts) {
  return named("stage", facts.slowOnes) + (facts.slowOnes.size() == 1 ? " takes " : " take ") +
         factorText(facts.ofSlowOnes.byItself()) + " times as long as " +
         facts.ofSlowOnes.others() + ", so " + named("stage", finding.stages) + " of " +
         named("rank", facts.ranks) + " together take " + factorText(facts.all.byItself()) +
         " times as long: imbalance costs " + costOf(finding);
}

/// "stage 2 (ranks 2 and 6) takes 1.30 times as long as the median of stages".
std::string slowStagesText(const Finding& finding) {
  const auto& facts = factsOf<StagesBesideOthers>(finding);
  if (finding.remedy == Remedy::kFewerLayersForTheSlow) return slowOnesOfStagesText(finding, facts);
  std::string text = finding.stages.empty() ? "a stage" : named("stage", finding.stages);
  if (!facts.ranks.empty()) text += " (" + named("rank", facts.ranks) + ")";
  text += isOneStage(finding) ? " takes " : " take ";
  if (!facts.isFaster() && !facts.isSlower()) {
    return text + "as long as " + facts.all.others() +
           ", but not with each kind of job: imbalance costs " + costOf(finding);
  }
  text += facts.all.isKnown
              ? factorText(facts.all.byItself()) + " times as long as " + facts.all.others()
              : "longer than others";
  if (facts.change) text += stretchText(*facts.change);
  text += ": imbalance costs " + costOf(finding);
  if (facts.lackPeers && !facts.change && facts.isSlower()) {
    text += "; the other ranks there have no logs, so that rank alone may be slow";
  }
  return text;
}

/// "; its clock was 1290 MHz, that of others 1755 MHz, held down by the power limit for 83 % of the
/// time"; empty where nothing is known.
std::string deviceText(const Finding& finding) {
  if (!finding.device) return {};
  const DeviceState& device = *finding.device;
  std::vector<std::string> parts;
  if (device.clock) {
    std::string clock = "its GPU's clock was " + fixedText(*device.clock, 0) + " MHz";
    if (device.peersClock) clock += ", that of others " + fixedText(*device.peersClock, 0) + " MHz";
    parts.push_back(std::move(clock));
  }
  const auto share = [](double part) {
    return percentText(static_cast<Nanoseconds>(part * 1e6), 1'000'000) + " of the time";
  };
  constexpr double kShare = 0.05;
  if (device.byPower.value_or(0) >= kShare) {
    parts.push_back("the power limit held it down for " + share(*device.byPower));
  }
  if (device.byHeat.value_or(0) >= kShare) {
    parts.push_back("heat held it down for " + share(*device.byHeat));
  }
  if (device.linkErrors.value_or(0) > 0) {
    parts.push_back("NVLink counted " + fixedText(*device.linkErrors, 0) + " errors");
  }
  if (device.othersMemory.value_or(0) >= 1e9) {
    parts.push_back("other processes held " +
                    bytesText(static_cast<std::int64_t>(*device.othersMemory)) + " of its memory");
  }
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "; " : ", ") + part;
  return text;
}

/// "rank 6 takes 1.30 times as long as the other ranks of stage 2 from step 120 on".
std::string slowRankText(const Finding& finding) {
  const auto& rank = factsOf<SlowerRanks::Rank>(finding);
  const bool isOne = isOneRank(finding);
  std::string text = ranksOf(finding) + (isOne ? " takes " : " take ");
  if (!rank.change || rank.change->isBesidePeers) {
    text += factorText(rank.change ? rank.change->factor : rank.byItself()) +
            " times as long as the other ranks of " + named("stage", rank.stages);
  } else {
    text += factorText(rank.change->factor) + " times as long as in other steps";
  }
  if (rank.change) text += stretchText(*rank.change);
  return text + waitingFor(isOne ? "it" : "them", finding) + sharesOf(finding) +
         deviceText(finding);
}

/// "pipeline 1 (ranks 4 to 7) takes 1.50 times as long as the others".
std::string slowReplicaText(const Finding& finding) {
  const auto& facts = factsOf<SlowReplica>(finding);
  return "pipeline " + std::to_string(facts.replica) + " (" + ranksText(facts.ranks) + ") takes " +
         factorText(facts.factor) + " times as long as the others" + waitingFor("it", finding) +
         sharesOf(finding);
}

/// "2F5 of rank 2 takes 40.0 ms in step 3 (median 10.0 ms)".
std::string jobInStep(const BlamedJob& job) {
  return job.name + " of rank " + std::to_string(job.rank) + " takes " +
         formatDuration(job.length) + " in step " + std::to_string(job.step) + " (median " +
         formatDuration(job.usual) + ")";
}

std::string longJobText(const Finding& finding) {
  return jobInStep(factsOf<BlamedJob>(finding)) + waitingFor("it", finding);
}

std::string oftenLongJobText(const Finding& finding) {
  const auto& job = factsOf<BlamedJob>(finding);
  return job.name + " of rank " + std::to_string(job.rank) + " takes longer than " +
         formatDuration(job.usual) + ", the median of its stage, in " + std::to_string(job.count) +
         " of " + std::to_string(job.all) + " steps, up to " + formatDuration(job.length) +
         " in step " + std::to_string(job.step) + waitingFor("it", finding);
}

/// " takes at least 10 times as long as usual".
std::string muchLonger(int count) {
  return std::string(count == 1 ? " takes" : " take") + " at least " +
         std::to_string(Outliers::kManyTimes) + " times as long as usual";
}

std::string longJobsText(const Finding& finding) {
  const auto& job = factsOf<BlamedJob>(finding);
  const int more = job.count - 1;
  std::string text = jobInStep(job);
  if (more > 0) text += ", and " + countText(more, "more job") + " of it" + muchLonger(more);
  return text + waitingFor(more > 0 ? "them" : "it", finding);
}

std::string unevenMicroBatchesText(const Finding& finding) {
  const auto& lengths = factsOf<UnevenMicroBatches>(finding);
  return "micro-batches are of uneven length: on " + named("stage", lengths.uneven()) +
         " those with long forwards have long backwards (correlation " +
         fixedText(lengths.correlation(), 2) + "), up to " + factorText(lengths.longest()) +
         " times the mean of their step" + waitingFor("the long ones", finding) + sharesOf(finding);
}

std::string scatteredPausesText(const Finding& finding) {
  const auto& pauses = factsOf<ScatteredPauses>(finding);
  return "ranks " + numbersText(pauses.ranks()) +
         " pause at different steps, as for a garbage collection: " +
         std::to_string(pauses.count()) + " times in " + countText(pauses.steps(), "step") +
         ", for " + formatDuration(pauses.median()) + " in the median" +
         waitingFor("them", finding) + sharesOf(finding);
}

/// "all-gathers of data-parallel ranks 0 to 3".
std::string collectivesText(JobKind kind, GroupAxis axis, const std::vector<int>& ranks) {
  std::string name(logName(kind));
  std::replace(name.begin(), name.end(), '_', '-');
  const std::string words(axisWords(axis));
  return name + "s of " + words + (words.empty() ? "" : " ") + ranksText(ranks);
}

std::string unevenLoadText(const Finding& finding) {
  const auto& load = factsOf<Peers::Load>(finding);
  std::string text = "uneven load, as of experts: between two collectives the busiest of " +
                     ranksText(load.ranks) + " computes " + factorText(load.busiest) +
                     " times their mean";
  if (load.moreGroups > 0) text += " (" + countText(load.moreGroups, "more group") + " likewise)";
  return text + ", in forwards and backwards of a micro-batch alike (correlation " +
         fixedText(load.correlation, 2) + ")" + waitingFor("the busiest", finding);
}

std::string slowGroupText(const Finding& finding) {
  const auto& slow = factsOf<Peers::SlowSet>(finding);
  return collectivesText(slow.kind, slow.axis, slow.ranks) + " move " + factorText(slow.factor()) +
         " times as long as those of other groups (" + formatDuration(slow.moving) + ", " +
         formatDuration(slow.others) + ")" + waitingFor("them", finding);
}

std::string slowReductionText(const Finding& finding) {
  const auto& slow = factsOf<SlowReduction>(finding);
  return "sums of gradients over " + ranksText(slow.ranks) + " move " + factorText(slow.factor) +
         " times as long as those of other ranks (" + formatDuration(slow.moving) + ", " +
         formatDuration(slow.others) +
         (slow.hasSizes ? ")" : "; nothing says how many bytes each has)") +
         waitingFor("them", finding);
}

std::string slowOptimizerText(const Finding& finding) {
  const auto& slow = factsOf<SlowOptimizer>(finding);
  return "the optimizer of rank " + std::to_string(slow.rank) + " takes " +
         formatDuration(slow.length) + " a step, those of other ranks " +
         formatDuration(slow.others) + " at most" + waitingFor("it", finding);
}

std::string unevenMovingText(const Finding& finding) {
  return "stages do as much work, but collectives inside their jobs move for different times: "
         "imbalance costs " +
         costOf(finding);
}

std::string peersVaryText(const Finding& finding) {
  std::string text =
      "ranks that share stages take turns at being the last in their collectives, by chance: "
      "waiting for each other costs " +
      costOf(finding);
  if (const auto* load = finding.factsOf<Peers::PossibleLoad>()) {
    text +=
        ". Part of it may be uneven load, as of experts: forwards and backwards of a "
        "micro-batch correlate by " +
        fixedText(load->correlation, 2) + " on " + ranksText(load->ranks);
  }
  return text;
}

std::string untracedPeersText(const Finding& finding) {
  const std::vector<int>& ranks = factsOf<UntracedPeers>(finding).ranks;
  const std::string whom = ranks.empty()
                               ? "ranks whose part nobody knows"
                               : ranksText(ranks) + (ranks.size() == 1 ? ", which has no trace"
                                                                       : ", which have no trace");
  return "jobs wait inside for " + whom + ": " + formatDuration(finding.time) +
         " at least, by the shortest collectives of their kind and size";
}

std::string exposedCollectivesText(const Finding& finding) {
  const auto& exposed = factsOf<Peers::Exposed>(finding);
  const std::string what = exposed.gathers && exposed.scatters ? "gathers and scatters"
                           : exposed.gathers                   ? "gathers"
                                                               : "scatters";
  std::string text = what + " of weights (FSDP) hold up jobs: " + formatDuration(exposed.perStep) +
                     " of a rank and step";
  if (exposed.gathers && exposed.before > 0) {
    text += "; before a gather stand " + formatDuration(exposed.before) +
            " of compute, which could hide it (median)";
  }
  return text;
}

std::string contentionText(const Finding& finding) {
  const auto& beside = factsOf<Peers::Contention>(finding);
  return "kernels of jobs take " + factorText(beside.factor) +
         " times as long while collectives of data-parallel ranks run beside them: " +
         formatDuration(beside.perStep) + " of a rank and step, " + formatDuration(beside.onPath) +
         " of a step's critical path, in " + countText(beside.jobs, "job");
}

std::string unsteadyJobsText(const Finding& finding) {
  if (finding.isOfMany) {
    return "jobs vary by chance, those of no rank far more than others: waiting for the longer "
           "ones "
           "costs " +
           costOf(finding);
  }
  return "jobs of " + ranksOf(finding) + " now and then take longer than their medians" +
         waitingFor("them", finding) + sharesOf(finding);
}

/// "rank 1's data loader: ".
std::string loaderOf(int rank) { return "rank " + std::to_string(rank) + "'s data loader: "; }

std::string dataText(const Finding& finding) {
  const auto& job = factsOf<BlamedJob>(finding);
  std::string text = loaderOf(job.rank) + formatDuration(job.perStep) + " a step, up to " +
                     formatDuration(job.length) + " at once (step " + std::to_string(job.step) +
                     ")";
  if (!isOneRank(finding)) text += ", the most expensive of " + ranksOf(finding);
  return text + ": late starts cost " + costOf(finding) + sharesOf(finding);
}

std::string lateJobText(const Finding& finding) {
  const auto& job = factsOf<BlamedJob>(finding);
  std::string text = ranksOf(finding) + (isOneRank(finding) ? " begins " : " begin ") + job.name +
                     (job.opensStep ? ", the first job of its step, later than other pipelines do"
                                    : " later than its inputs are there");
  if (job.step >= 0) text += ", in step " + std::to_string(job.step);
  return text + ": late starts cost " + costOf(finding) + sharesOf(finding);
}

std::string lateJobsText(const Finding& finding) {
  if (finding.isOfMany) {
    return "ranks begin their jobs later than their inputs are there, none far more than others: "
           "late starts cost " +
           costOf(finding);
  }
  return ranksOf(finding) + (isOneRank(finding) ? " begins its" : " begin their") +
         " jobs later than their inputs are there: late starts cost " + costOf(finding) +
         sharesOf(finding);
}

/// "rank 0 posts 0SEND_F0 10.00 ms after its data are there".
std::string lateMessagesText(const Finding& finding) {
  const auto& message = factsOf<LateMessage>(finding);
  if (finding.isOfMany) {
    return "ranks post messages, or receives of messages, later than they could, none far more "
           "than others: late starts cost " +
           costOf(finding);
  }
  const bool isOne = isOneRank(finding);
  const std::string late = " " + formatDuration(message.late) + " after its data are there";
  std::string text = ranksOf(finding) + (isOne ? " posts " : " post ");
  if (isOne && message.isOnlyOne) {
    text += message.name + late;
  } else {
    text += std::string(isOne ? "its" : "their") + " messages later than their data are there, " +
            "such as rank " + std::to_string(message.rank) + " " + message.name + late;
  }
  if (message.step >= 0) text += " in step " + std::to_string(message.step);
  if (!message.behind.empty()) text += ", behind its " + message.behind;
  return text + ": late starts cost " + costOf(finding) + sharesOf(finding);
}

/// A message whose send is not recorded may have been sent late.
std::string postingText(const LinkBesideOthers& link) {
  return link.hasPostings ? ""
                          : "; when they were sent is not recorded, so late sends look like slow "
                            "messages";
}

std::string slowLinkText(const Finding& finding) {
  const auto& link = factsOf<LinkBesideOthers>(finding);
  const std::string whose = link.slowWay
                                ? "messages from rank " + std::to_string(link.slowWay->first) +
                                      " to rank " + std::to_string(link.slowWay->second)
                                : messagesOf(finding);
  return whose + " take " + formatDuration(link.median) + " (median" +
         (link.others ? "; other links " + formatDuration(*link.others) : "") +
         "): transfers cost " + costOf(finding) + postingText(link);
}

std::string earlyLinkText(const Finding& finding) {
  return messagesOf(finding) + " arrive before they are sent: transfers cost " + costOf(finding);
}

/// "a message from rank 5 to rank 6 takes 4.001 s in step 7 (6F3; median of the link 1.156 ms)".
std::string longMessagesText(const Finding& finding) {
  const auto& facts = factsOf<LongMessages>(finding);
  const int more = facts.count - 1;
  std::string text = "a message from rank " + std::to_string(facts.from) + " to rank " +
                     std::to_string(facts.to) + " takes " + formatDuration(facts.length) +
                     " in step " + std::to_string(facts.step) + " (" + facts.job +
                     "; median of the link " + formatDuration(facts.usual) + ")";
  if (more > 0) {
    text += ", and " + std::to_string(more) + " more there" + muchLonger(more);
    if (facts.steps.size() > 1) text += ", in steps " + numbersText(facts.steps);
  }
  return text + waitingFor(more > 0 ? "them" : "it", finding);
}

/// Whether one of several links has more than half of the time, and the others far less each.
bool isMostOnOneLink(const Finding& finding) {
  const auto& links = finding.links;
  return links.size() > 1 && 2 * links.front().second > finding.time &&
         links.front().second > 3 * links[1].second;
}

std::string messagesText(const Finding& finding) {
  std::string where = "on links that are all alike";
  if (isMostOnOneLink(finding)) {
    const auto [from, to] = finding.links.front().first;
    where = "mostly between ranks " + std::to_string(from) + " and " + std::to_string(to) +
            ", though most messages there take no longer than others";
  }
  return "ranks wait while messages are on their way, " + where + ": transfers cost " +
         costOf(finding) + sharesOf(finding) + postingText(factsOf<LinkBesideOthers>(finding));
}

std::string unloggedMessagesText(const Finding& finding) {
  return "ranks wait for data of other ranks, and no message is logged, so late sends and slow "
         "messages look alike: transfers cost " +
         costOf(finding) + sharesOf(finding);
}

std::string unknownSenderText(const Finding& finding) {
  return "messages from a rank that is not known cost " + costOf(finding);
}

/// "8RECV_F0 on rank 0 and 6 more receives, posted before their data came, hold up messages behind
/// them".
std::string linesText(const HeldLines& lines) {
  using Ends = HeldLines::Ends;
  const bool isOne = lines.count == 1;
  std::string text = lines.first + " on rank " + std::to_string(lines.rank);
  if (!isOne) {
    const char* const kind = lines.ends == Ends::kReceives ? "more receive"
                             : lines.ends == Ends::kSends  ? "more send"
                                                           : "more message";
    text += " and " + countText(lines.count - 1, kind);
  }
  switch (lines.ends) {
    case Ends::kReceives:
      text += std::string(", posted before ") + (isOne ? "its" : "their") + " data came,";
      break;
    case Ends::kSends: text += ", whose turn at the receiver came later,"; break;
    case Ends::kBoth: text += ", whose data or whose turn at the other end came later,"; break;
  }
  return text + (isOne ? " holds up messages behind it" : " hold up messages behind them");
}

std::string heldLinesText(const Finding& finding) {
  const auto& lines = factsOf<HeldLines>(finding);
  if (!lines.inTime) {
    return linesText(lines) + waitingFor("their lines", finding) + sharesOf(finding);
  }
  const Nanoseconds gain = lines.inTime->usual - lines.inTime->length;
  return linesText(lines) + ": " + formatDuration(gain) + " a step, " +
         percentText(gain, lines.inTime->usual) +
         " of it; with messages in the order of their times the step would take " +
         formatDuration(lines.inTime->length);
}

/// " a step", " a step in 2 of 8 steps".
std::string aStepText(const Pauses& pauses) {
  if (pauses.count >= pauses.steps) return " a step";
  return " a step in " + std::to_string(pauses.count) + " of " +
         countText(static_cast<std::size_t>(pauses.steps), "step");
}

/// "36.6 % of all ranks' time".
std::string costOfPauses(const Finding& finding) {
  constexpr Nanoseconds kWhole = 1'000'000;  // percentText() takes parts of a whole
  return percentText(static_cast<Nanoseconds>(finding.shareOfSteps * static_cast<double>(kWhole)),
                     kWhole) +
         " of all ranks' time";
}

/// "rank 1's data loader: 150.1 ms a step, …".
std::string loaderPausesText(const Finding& finding, const Pauses& facts) {
  const std::string time = formatDuration(facts.workTime / facts.count) + aStepText(facts);
  const std::string text = facts.ranks.size() > 1
                               ? "data loaders of " + std::to_string(facts.ranks.size()) +
                                     " ranks: " + time + ", the longest on rank " +
                                     std::to_string(facts.rank)
                               : loaderOf(facts.rank) + time;
  return text + ": pauses between steps cost " + costOfPauses(finding);
}

std::string pausesText(const Finding& finding) {
  using Reason = Pauses::Reason;
  const auto& facts = factsOf<Pauses>(finding);
  if (facts.reason == Reason::kData) return loaderPausesText(finding, facts);
  std::string text = facts.isWanted() ? "training pauses" : "the run stands still";
  text += " after step " + std::to_string(facts.step) + " for " +
          formatDuration(facts.end - facts.begin);
  constexpr Nanoseconds kUsualShare = 100;  // a smaller part of it is not worth a word
  if (kUsualShare * facts.usual > facts.end - facts.begin) {
    text += " (after others for " + formatDuration(facts.usual) + ")";
  }
  if (facts.count > 1) {
    text += ", and after " + countText(facts.count - 1, "more step") + ": " +
            formatDuration(facts.time) + " in all";
  }
  if (facts.reason == Reason::kUnknown) {
    if (facts.areOthersWaiting) {
      text += "; the others wait for messages by then, so it is rank " +
              std::to_string(facts.rankOfNext) + " that does something else";
    }
    if (facts.mayBeUpdates) {
      return text +
             "; no optimizer is recorded, so it may be that, or data, a checkpoint or an "
             "evaluation: pauses cost " +
             costOfPauses(finding);
    }
    return text + " (data, a checkpoint or an evaluation between steps): pauses cost " +
           costOfPauses(finding);
  }
  const std::string time = formatDuration(facts.workTime) + " of that";
  if (facts.isWanted()) {
    const bool isEvaluation = facts.reason == Reason::kEvaluation;
    return text + (isEvaluation ? "; the evaluation (" : "; the prediction (") + workText(facts) +
           ") takes " + time;
  }
  text += "; rank " + std::to_string(facts.rank);
  if (facts.ranks.size() > 1) {
    text += ", the longest of " + std::to_string(facts.ranks.size()) + " ranks,";
  }
  return text + " saves a checkpoint (" + workText(facts) + ") for " +
         formatDuration(facts.workTime) + ": " + costOfPauses(finding);
}

/// "of the idle time optimizers take 12.0 ms, 30.0 %".
std::string ofIdleTime(const char* begin, const Finding& finding) {
  return std::string(begin) + " " + formatDuration(finding.time) + ", " +
         percentText(finding.time, finding.idle);
}

/// "ranks 1 and 2: peer wait costs 12.0 ms of idle time …"; where nobody is to blame as the row of
/// the class says.
std::string classText(const Finding& finding) {
  const BubbleClassRow& row = rowOf(finding.bubbleClass);
  if (finding.ranks.empty() && row.blame == BubbleBlame::kNobody) {
    return ofIdleTime(row.finding, finding);
  }
  return (finding.ranks.empty() ? "" : ranksOf(finding) + ": ") + bubbleClassWords(row.of) +
         " costs " + costOf(finding) + sharesOf(finding);
}

std::string scheduleText(const Finding& finding) { return ofIdleTime(kSchedulesOwn, finding); }
std::string optimizersText(const Finding& finding) {
  return ofIdleTime("of the idle time optimizers take", finding);
}

std::string unknownText(const Finding& finding) {
  const auto& facts = factsOf<UnknownIdle>(finding);
  const std::string text = ofIdleTime(rowOf(BubbleClass::kUnknown).finding, finding);
  if (facts.lacksPlan) {
    return text +
           "; the schedule's own share is part of it, as ranks have no logs and the others "
           "do not show the schedule";
  }
  if (facts.lacking.steps.empty()) {
    return facts.areMessagesOfNobody
               ? text + "; ranks wait for messages of which the traces do not say whose they are"
               : text;
  }
  return text + "; " + facts.lacking.text() + ", so nobody knows what ranks waited for there";
}

struct SentenceRow {
  FindingKind kind;
  std::string (*text)(const Finding& finding);
};

constexpr std::array<SentenceRow, kFindingKindCount> kSentences = {{
    {FindingKind::kEarlyMessages, earlyMessagesText},
    {FindingKind::kSlowStages, slowStagesText},
    {FindingKind::kSlowRank, slowRankText},
    {FindingKind::kSlowReplica, slowReplicaText},
    {FindingKind::kLongJob, longJobText},
    {FindingKind::kOftenLongJob, oftenLongJobText},
    {FindingKind::kLongJobs, longJobsText},
    {FindingKind::kUnevenMicroBatches, unevenMicroBatchesText},
    {FindingKind::kScatteredPauses, scatteredPausesText},
    {FindingKind::kUnevenLoad, unevenLoadText},
    {FindingKind::kSlowGroup, slowGroupText},
    {FindingKind::kSlowReduction, slowReductionText},
    {FindingKind::kSlowOptimizer, slowOptimizerText},
    {FindingKind::kUnevenMoving, unevenMovingText},
    {FindingKind::kPeersVary, peersVaryText},
    {FindingKind::kUntracedPeers, untracedPeersText},
    {FindingKind::kExposedCollectives, exposedCollectivesText},
    {FindingKind::kContention, contentionText},
    {FindingKind::kUnsteadyJobs, unsteadyJobsText},
    {FindingKind::kData, dataText},
    {FindingKind::kLateJob, lateJobText},
    {FindingKind::kLateJobs, lateJobsText},
    {FindingKind::kLateMessages, lateMessagesText},
    {FindingKind::kSlowLink, slowLinkText},
    {FindingKind::kEarlyLink, earlyLinkText},
    {FindingKind::kLongMessages, longMessagesText},
    {FindingKind::kMessages, messagesText},
    {FindingKind::kUnloggedMessages, unloggedMessagesText},
    {FindingKind::kHeldLines, heldLinesText},
    {FindingKind::kUnknownSender, unknownSenderText},
    {FindingKind::kOfClass, classText},
    {FindingKind::kPauses, pausesText},
    {FindingKind::kSchedule, scheduleText},
    {FindingKind::kOptimizers, optimizersText},
    {FindingKind::kOptimizersAndCollectives, classText},
    {FindingKind::kUnknown, unknownText},
}};

std::string moreLayers(const Finding& finding) {
  return "a faster stage waits for the others: give " + thatStage(finding) + " more layers";
}

std::string fewerLayers(const Finding& finding) {
  return (factsOf<StagesBesideOthers>(finding).areRanksAlike
              ? "all ranks there are alike, so give "
              : "its faster ranks take that long, too, so give ") +
         thatStage(finding) + " fewer layers";
}

std::string fewerLayersOrHost(const Finding& finding) {
  return "give " + thatStage(finding) + " fewer layers; if " +
         (isOneStage(finding) ? "it has" : "they have") +
         " no more work than the others, look at the " + (finding.onProcessors ? "host" : "GPU") +
         " of the rank: clocks, power, temperature, other processes";
}

std::string fewerLayersForTheSlow(const Finding& finding) {
  const auto& facts = factsOf<StagesBesideOthers>(finding);
  return std::string("give ") + (facts.slowOnes.size() == 1 ? "that stage" : "these stages") +
         " fewer layers: other stages of the same " + (facts.ranks.size() == 1 ? "rank" : "ranks") +
         " take hardly longer than others";
}

std::string hostOfRank(const Finding& finding) {
  const std::optional<SlowerRanks::Change>& change = factsOf<SlowerRanks::Rank>(finding).change;
  return std::string(finding.onProcessors ? "look at the host of "
                                          : "look at the GPU and the host of ") +
         (isOneRank(finding) ? "that rank" : "these ranks") +
         ": clocks, power, temperature, memory errors, other processes" +
         (!change                 ? ""
          : change->apart.empty() ? ", and what changed at that step"
                                  : ", and what else ran in these steps");
}

std::string soonerLaunches(const Finding& finding) {
  if (!finding.onProcessors) return rowOf(BubbleClass::kLateStart).advice;
  return "see what the program does before it begins these jobs: Python between jobs, a lock, "
         "other "
         "processes on a busy host";
}

std::string soonerMessages(const Finding& finding) {
  if (!factsOf<LateMessage>(finding).behind.empty()) {
    return "the rank waits for another message before it sends that one: post the send first, or "
           "both at once (isend, irecv); the network is not to blame";
  }
  return std::string(
             "see what the host does between the end of that job and the posting of its message: "
             "work, ") +
         (finding.onProcessors ? "" : "waits for the device, ") +
         "a lock; the network is not to blame";
}

std::string orderOfMessages(const Finding& finding) {
  const auto& inTime = factsOf<HeldLines>(finding).inTime;
  if (!inTime || inTime->schedule.empty()) {
    return rowOf(BubbleClass::kBlocked).advice;
  }
  std::string command = "pipe-trace plan --schedule " + inTime->schedule + " --ranks " +
                        std::to_string(inTime->ranks) + " --micro-batches " +
                        std::to_string(inTime->microBatches);
  if (inTime->chunks > 0) command += " --chunks " + std::to_string(inTime->chunks);
  return command + " --costs-from " + inTime->logs + " --comm-streams " +
         std::string(rowOf(inTime->lines).name) +
         " --transfers in-time --csv better.csv --for torch writes that plan "
         "(docs/inputs/torch.md, \"A better order of messages\")";
}

std::string stepsLeftOut(const Finding& finding) {
  return factsOf<UnknownIdle>(finding).lacking.leaveOutText();
}

std::string adviceOfClass(const Finding& finding) { return rowOf(finding.bubbleClass).advice; }

struct RemedyRow {
  Remedy remedy;
  const char* text;  ///< null: it depends on the facts
  std::string (*of)(const Finding& finding) = nullptr;
};

constexpr std::array<RemedyRow, kRemedyCount> kRemedies = {{
    {Remedy::kMoveClocks, "compare the clocks of the hosts, or let --align causal move them"},
    {Remedy::kMoveClocksOfLink, "compare the clocks of the hosts; --align causal moves them"},
    {Remedy::kComparePasses,
     "compare forward and backward passes: pipe-trace --json has their medians by stage"},
    {Remedy::kMoreLayers, nullptr, moreLayers},
    {Remedy::kFewerLayers, nullptr, fewerLayers},
    {Remedy::kFewerLayersOrHost, nullptr, fewerLayersOrHost},
    {Remedy::kFewerLayersForTheSlow, nullptr, fewerLayersForTheSlow},
    {Remedy::kHostOfRank, nullptr, hostOfRank},
    {Remedy::kHostsOfReplica,
     "look at what its ranks have in common: the hosts and their network, power, temperature, "
     "longer inputs in its part of the data"},
    {Remedy::kThatMoment,
     "see what that rank did then: memory that was freed or compiled kernels, a checkpoint, "
     "another process on its host"},
    {Remedy::kThatMicroBatch,
     "see what is different about that micro-batch: its input, or what the program does beside "
     "it"},
    {Remedy::kSteadierHosts, rowOf(BubbleClass::kPeerWait).advice},
    {Remedy::kEvenLoad,
     "spread tokens more evenly over experts, or experts over ranks: an auxiliary loss or a bias "
     "of "
     "the router, a limit on tokens per expert (Megatron-LM: --moe-aux-loss-coeff, "
     "--moe-router-enable-expert-bias, --moe-expert-capacity-factor)"},
    {Remedy::kNetworkOfGroup,
     "look at what carries that group's data: NVLink or the network cards of its hosts, their "
     "routes, NCCL's choice of them (NCCL_DEBUG=INFO)"},
    {Remedy::kSizesOfSums,
     "see first whether that stage has that many times the weights of others, as with an "
     "embedding; "
     "else look at the network between these ranks"},
    {Remedy::kSteadierPeers,
     "nobody is to blame: kernels vary, and each collective waits for the longest; fewer or later "
     "collectives wait less"},
    {Remedy::kGathersAhead,
     "gather weights while the work before them computes: PyTorch FSDP2 set_modules_to_forward_"
     "prefetch() and set_modules_to_backward_prefetch(); with pipelines keep weights gathered "
     "between micro-batches (reshard_after_forward=False; torchtitan: "
     "parallelism.fsdp_reshard_after_forward = \"never\")"},
    {Remedy::kFewerChannels,
     "such collectives take processors and memory from kernels: let them take fewer "
     "(NCCL_MAX_CTAS, "
     "in older versions NCCL_MAX_NCHANNELS), as long as they still end in time"},
    {Remedy::kInsideTimes,
     "see in the table of what is inside jobs which collectives move longer there: more of them, "
     "larger ones, or a slower network"},
    {Remedy::kEvenMicroBatches,
     "balance micro-batches by tokens: fill each with sequences that take as long together, or "
     "pack sequences to one length"},
    {Remedy::kCollectTogether,
     "let all ranks collect garbage at the same step: gc.disable(), and gc.collect() every N "
     "steps (Megatron-LM: --manual-gc --manual-gc-interval N)"},
    {Remedy::kDataAhead,
     "load batches ahead of the step that needs them: more workers, faster storage"},
    {Remedy::kSoonerLaunches, nullptr, soonerLaunches},
    {Remedy::kSoonerSteps,
     "see what the program does between its steps, which nothing records: most often it loads "
     "data; a `data` job, or a trace that has torch's data loader, would show it",
     nullptr},
    {Remedy::kSoonerMessages, nullptr, soonerMessages},
    {Remedy::kOrderOfMessages, nullptr, orderOfMessages},
    {Remedy::kThatLink, "look at that link: its route, its network card, other traffic on it"},
    {Remedy::kNetworkAtThatTime,
     "look at the network and at both hosts at that time: a connection that was cut, a process "
     "that was stopped"},
    {Remedy::kShorterMessages, "see whether messages can be smaller, or the link faster"},
    {Remedy::kFewerMessages, rowOf(BubbleClass::kTransfer).advice},
    {Remedy::kMessagesInLogs,
     "record messages too (docs/profiler.md, docs/inputs/torch.md): slow links then differ from "
     "late "
     "jobs and late sends"},
    {Remedy::kPostingsInLogs,
     "record the sends, too, with the time when each is posted (docs/profiler.md, "
     "docs/inputs/torch.md): late sends then differ from slow links"},
    {Remedy::kAllLogs, rowOf(BubbleClass::kUnknown).advice},
    {Remedy::kRecordMore,
     "nothing that is recorded takes so long: record what ranks do between their jobs, such as "
     "loading, sums of gradients and updates (docs/profiler.md)"},
    {Remedy::kNamedMessages,
     "name messages where they are posted, as with record_function(\"PP:1RECV_F3\") "
     "(docs/inputs/torch.md)"},
    {Remedy::kWholeLogs, "give the whole logs of all ranks"},
    {Remedy::kStepsLeftOut, nullptr, stepsLeftOut},
    {Remedy::kFewerCheckpoints,
     "save checkpoints less often, or from a copy while training goes on"},
    {Remedy::kFewerEvaluations,
     "evaluate and predict less often, or on fewer micro-batches; --steps selects such steps by "
     "number"},
    {Remedy::kProgramBetweenSteps,
     "see what the program does between these steps: record it as jobs, or look at its output"},
    {Remedy::kAnotherSchedule, rowOf(BubbleClass::kWarmUp).advice},
    {Remedy::kFasterUpdates,
     "see whether weights can be updated faster: a fused optimizer, or several ranks that update "
     "a part each"},
    {Remedy::kUpdatesAndReductions, rowOf(BubbleClass::kSync).advice},
    {Remedy::kOfClass, nullptr, adviceOfClass},
}};

static_assert(
    [] {
      for (std::size_t i = 0; i < kSentences.size(); ++i) {
        if (kSentences[i].kind != static_cast<FindingKind>(i) || kSentences[i].text == nullptr)
          return false;
      }
      return true;
    }(),
    "a kind of findings lacks its sentence, or stands elsewhere");
static_assert(
    [] {
      for (std::size_t i = 0; i < kRemedies.size(); ++i) {
        const RemedyRow& row = kRemedies[i];
        const bool hasText = (row.text == nullptr) != (row.of == nullptr);
        if (row.remedy != static_cast<Remedy>(i) || !hasText) return false;
      }
      return true;
    }(),
    "a remedy lacks its sentence, or stands elsewhere");

}  // namespace

std::string findingText(const Finding& finding) {
  return kSentences[static_cast<std::size_t>(finding.kind)].text(finding);
}

std::string remedyText(const Finding& finding) {
  const RemedyRow& row = kRemedies[static_cast<std::size_t>(finding.remedy)];
  return row.of == nullptr ? row.text : row.of(finding);
}

const char* noFindingsText(Nanoseconds idle) {
  return idle > 0 ? "no cause of idle time takes 1 % of the steps' time" : "no idle time";
}

std::string minorFindingsText(const std::vector<Finding>& findings) {
  std::size_t count = 0;
  double share = 0;
  double most = 0;
  for (const Finding& finding : findings) {
    if (!finding.isMinor) continue;
    ++count;
    share += finding.shareOfSteps;
    most = std::max(most, finding.shareOfSteps);
  }
  if (count == 0) return {};
  constexpr Nanoseconds kWhole = 1'000'000;  // percentText() takes parts of a whole
  const std::string percent =
      percentText(static_cast<Nanoseconds>(share * static_cast<double>(kWhole)), kWhole);
  if (count == 1) return "1 more cause costs " + percent + " of the steps' time";
  return std::to_string(count) + " more causes cost less than " + (most < 0.01 ? "1" : "2") +
         " % of the steps' time each, " + percent + " together";
}

std::string workText(const Pauses& pauses) {
  if (!pauses.isWanted()) return pauses.work;
  const std::string first = std::to_string(pauses.firstOther);
  return pauses.firstOther == pauses.lastOther
             ? "step " + first
             : "steps " + first + " to " + std::to_string(pauses.lastOther);
}

}  // namespace pipetrace
