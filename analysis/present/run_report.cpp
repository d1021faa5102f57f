#include "analysis/present/run_report.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "analysis/present/advice_report.h"
#include "analysis/present/doubt_sentences.h"
#include "analysis/present/finding_sentences.h"
#include "analysis/present/run_figures.h"
#include "analysis/present/summary_report.h"
#include "analysis/present/text_table.h"
#include "analysis/run/steps/median_step.h"
#include "chart/search/parse_query.h"
#include "trace/text/decimal_time.h"
#include "trace/text/fit_to_print.h"
#include "trace/text/number_text.h"
#include "trace/text/ranks_text.h"
#include "trace/text/shell_word.h"

namespace pipetrace {

namespace {

/// Returns the event that joinBubbles() makes of the bubble, but for its culprit.
Event eventOf(const Bubble& bubble) {
  Event event;
  event.begin = bubble.begin;
  event.end = bubble.end;
  event.step = bubble.step;
  event.kind = JobKind::kBubble;
  event.bubbleClass = bubble.bubbleClass;
  return event;
}

/// The lane that the event of the timeline is in.
std::string_view laneOf(const Timeline& timeline, const Event* event) {
  for (const Track& track : timeline.tracks) {
    const Event* const first = track.events.data();
    const bool isHere =
        !std::less<>()(event, first) && std::less<>()(event, first + track.events.size());
    if (isHere) return track.lane;
  }
  return {};
}

}  // namespace

std::string findQueryOf(const RunReport& report, const Finding& finding) {
  if (finding.evidence.empty()) return {};
  const Evidence& best = finding.evidence.front();
  if (best.event == nullptr) {
    return exactQuery(report.explanation.of.timeline(), best.rank, kBubbleLane,
                      eventOf(best.bubble));
  }
  return exactQuery(report.explanation.of.timeline(), best.rank,
                    laneOf(report.explanation.of.timeline(), best.event), *best.event);
}

namespace {

/// Without --all.
constexpr std::size_t kMostFindings = 8;
constexpr std::size_t kMostNamedStages = 16;

/// "schedule 1F1B (as PipeDream)": recognised from the order of jobs.
std::string scheduleLine(const RunReport& report) {
  const FollowedSchedule& schedule = report.explanation.schedule;
  std::string text = "schedule: " + toText(schedule.recognised);
  const std::vector<std::string>& names = schedule.recognised.names;
  const bool isAlias = !schedule.given.empty() && !names.empty() && schedule.isAsGiven() &&
                       !schedule.given.ends_with(names.front());
  if (isAlias) text += " (" + fitInLine(schedule.given) + " in the logs)";
  for (std::size_t i = 1; i < names.size(); ++i) {
    text += (i == 1 ? ", also the order of " : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  if (!schedule.ranksOfStage.empty()) {
    text += (names.empty() ? "; stages on ranks " : " with stages on ranks ") +
            pipetrace::toText(schedule.ranksOfStage);
  }
  if (!schedule.given.empty() && !schedule.isAsGiven()) text += "; " + schedule.givenText();
  if (schedule.deviationCount > 0) {
    text += "; " + countText(schedule.deviationCount, "job") + " at other places, such as " +
            schedule.deviations.front().job + " of rank " +
            std::to_string(schedule.deviations.front().rank) + " in step " +
            std::to_string(schedule.deviations.front().step);
  }
  if (!schedule.problem.empty()) text += "; " + schedule.problem;
  return text;
}

/// Which steps count, where not all do.
std::string countedLine(const Explanation& run, std::size_t steps) {
  if (run.counted.areAll()) return {};
  if (run.counted.leftOut()) {
    return run.counted.leftOutText() + " of all figures and findings; --steps " +
           std::to_string(run.counted.leftOut()->step) + ": has it";
  }
  const std::string untimed = run.counted.untimedText();
  return (untimed.empty() ? "" : untimed + "; ") + "all figures and findings are about " +
         std::to_string(countedSteps(run)) + " of " + countText(steps, "step");
}

/// How long a step takes by a clock on the wall, and what of it its jobs take.
std::string stepHeadline(const Explanation& run) {
  const MedianStep step = medianStepOf(run.summary, run.counted);
  if (step.count == 0 || step.isWholeRun) return {};
  const std::string window = formatDuration(step.window) + " from its first job to its last";
  if (!step.wall) {
    return "a step takes " + window +
           "; no step follows, so what passes between steps is not known";
  }
  return "a step takes " + formatDuration(*step.wall) + " of wall time, to the next one's begin; " +
         window + " (medians)";
}

/// "2", "1 (ranks 4 to 7)".
std::string replicaText(const Slowdown& slowdown, int replica) {
  std::vector<int> ranks;
  for (const Slowdown::Rank& rank : slowdown.ranks) {
    if (rank.replica == replica) ranks.push_back(rank.number);
  }
  return std::to_string(replica) + (ranks.empty() ? "" : " (" + ranksText(ranks) + ")");
}

}  // namespace

Lines doubtLines(const RunReport& report) {
  Lines lines;
  for (const Doubt& doubt : report.doubts) lines.push_back(doubtLine(doubt));
  return lines;
}

Lines runHeadLines(const RunReport& report) {
  const Arrangement run = arrangementOf(report.explanation);
  std::string text = countText(run.ranks, "rank");
  if (run.pipelines > 1) text += " in " + std::to_string(run.pipelines) + " pipelines";
  if (run.tensorRanks > 1) {
    text += " (" + countText(run.replicas, "replica") + ", " + std::to_string(run.tensorRanks) +
            " tensor-parallel ranks on each stage)";
  }
  text += ", " + countText(run.steps.size(), "step") + ", " + countText(run.jobs, "compute job");
  const RunSummary& summary = report.explanation.summary;
  Lines lines = {std::move(text)};
  if (std::string step = stepHeadline(report.explanation); !step.empty()) {
    lines.push_back(std::move(step));
  }
  lines.push_back(scheduleLine(report));
  for (std::string& line : phaseLines(summary)) lines.push_back(std::move(line));
  std::string counted = countedLine(report.explanation, run.steps.size());
  if (!counted.empty()) lines.push_back(std::move(counted));
  return lines;
}

bool isMinor(const RunReport& report, const Finding& finding) {
  const Advice* const advice = adviceOf(report, finding);
  return finding.isMinor && (advice == nullptr || advice->gain < kMinorShare);
}

ShownFindings shownFindings(const RunReport& report) {
  ShownFindings shown;
  for (const Finding& finding : report.explanation.findings) {
    if (!report.all && isMinor(report, finding)) continue;
    if (report.all || shown.list.size() < kMostFindings) {
      shown.list.push_back(&finding);
    } else {
      ++shown.left;
    }
  }
  return shown;
}

std::string noFindings(const Explanation& run) {
  Nanoseconds idle = 0;
  for (const ExplainedRank& rank : run.ranks) idle += rank.idle;
  return noFindingsText(idle);
}

std::string findCommandOf(const RunReport& report, const Finding& finding) {
  const std::string query = report.viewCommand.empty() ? "" : findQueryOf(report, finding);
  return query.empty() ? "" : report.viewCommand + " --find " + printedShellWord(query);
}

std::string groupText(const std::string& use, JobKind kind) {
  std::string name(logName(kind));
  std::replace(name.begin(), name.end(), '_', '-');
  return use == "other" ? name : use + " " + name;
}

std::string gainText(const RunReport& report, const Finding& finding) {
  const Advice* const advice = adviceOf(report, finding);
  if (advice == nullptr) return {};
  const auto textOf = [&](const Advice& each) {
    constexpr Nanoseconds kPartOfStep = 200;
    const bool varies =
        each.meanStep > 0 && std::abs(each.meanStep - each.step) > each.step / kPartOfStep;
    return formatDuration(each.step) + (report.advice->wall ? " of wall time" : "") +
           (varies ? " (" + formatDuration(each.meanStep) + " on average)" : std::string()) + ", " +
           percentText(static_cast<Nanoseconds>(std::max(0.0, each.gain) * 1e6), 1'000'000) +
           " less";
  };
  const std::string text = "the step would take " + textOf(*advice);
  if (advice->of == Advice::Of::kVariation) {
    return "with jobs that are as long as their rank's are in the mean " + text;
  }
  const Advice* const balanced = balanceOf(report, finding);
  if (balanced == advice) return "with stages that all take equally long " + text;
  if (balanced == nullptr) return text;
  return "with " + std::string(advice->stages.size() == 1 ? "that stage" : "these stages") +
         " as fast as others " + text + "; with stages that all take equally long " +
         textOf(*balanced);
}

const Advice* balanceOf(const RunReport& report, const Finding& finding) {
  if (report.advice == nullptr || finding.kind != FindingKind::kSlowStages) return nullptr;
  for (const Advice& each : report.advice->ofRun) {
    if (each.of == Advice::Of::kBalance) return &each;
  }
  return nullptr;
}

namespace {

bool isOfLateRanks(const Finding& finding) {
  return (finding.kind == FindingKind::kLateJobs || finding.kind == FindingKind::kLateMessages) &&
         !finding.isOfMany;
}

/// Whether a finding is about these ranks, and about others no more than about the first of them.
bool isAbout(const Finding& finding, const std::vector<int>& ranks) {
  const auto has = [&](int rank) {
    return std::any_of(finding.ranks.begin(), finding.ranks.end(),
                       [&](const auto& each) { return each.first == rank; });
  };
  return !ranks.empty() && !finding.ranks.empty() &&
         std::find(ranks.begin(), ranks.end(), finding.ranks.front().first) != ranks.end() &&
         std::all_of(ranks.begin(), ranks.end(), has);
}

}  // namespace

const Advice* adviceOf(const RunReport& report, const Finding& finding) {
  if (report.advice == nullptr) return nullptr;
  for (const Advice& each : report.advice->ofRun) {
    const bool isIts =
        (finding.kind == FindingKind::kSlowRank && each.of == Advice::Of::kRank &&
         each.rank == finding.culprit.rank && finding.ranks.size() == 1) ||
        (isOfLateRanks(finding) && isAbout(finding, each.lateRanks)) ||
        (finding.kind == FindingKind::kSlowOptimizer && each.of == Advice::Of::kOptimizer &&
         each.rank == finding.culprit.rank) ||
        (finding.kind == FindingKind::kUnevenLoad && each.of == Advice::Of::kLoad) ||
        (finding.kind == FindingKind::kSlowStages && each.of == Advice::Of::kStage &&
         finding.factsOf<StagesBesideOthers>() != nullptr &&
         each.stages == finding.factsOf<StagesBesideOthers>()->slowOnes) ||
        (finding.kind == FindingKind::kData && each.of == Advice::Of::kData) ||
        (finding.kind == FindingKind::kSlowGroup && each.of == Advice::Of::kGroup &&
         finding.factsOf<Peers::SlowSet>() != nullptr &&
         each.group == finding.factsOf<Peers::SlowSet>()->ranks) ||
        (finding.kind == FindingKind::kExposedCollectives && each.of == Advice::Of::kWeights) ||
        (finding.kind == FindingKind::kContention && each.of == Advice::Of::kContention) ||
        (finding.kind == FindingKind::kUnsteadyJobs && finding.isOfMany &&
         each.of == Advice::Of::kVariation);
    if (isIts) return &each;
  }
  return balanceOf(report, finding);
}

Lines pathLines(const Explanation& run) {
  Nanoseconds all = 0;
  for (const auto& [kind, time] : run.pathShares.byKind) all += time;
  if (all == 0) return {};
  std::vector<std::pair<std::string, Nanoseconds>> kinds(run.pathShares.byKind.begin(),
                                                         run.pathShares.byKind.end());
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string first = "the critical path consists of ";
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (i > 0) first += ", ";
    first += kinds[i].first + " " + percentText(kinds[i].second, all);
  }
  Lines lines = {std::move(first)};
  std::vector<std::pair<int, Nanoseconds>> stages(run.pathShares.byStage.begin(),
                                                  run.pathShares.byStage.end());
  if (stages.size() < 2) return lines;
  const std::size_t left = stages.size() > kMostNamedStages ? stages.size() - kMostNamedStages : 0;
  if (left > 0) {
    std::stable_sort(stages.begin(), stages.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    stages.resize(kMostNamedStages);
  }
  std::string line;
  for (const auto& [stage, time] : stages) {
    line +=
        (line.empty() ? "by stage: " : ", ") + std::to_string(stage) + " " + percentText(time, all);
  }
  if (left > 0) line += ", and less of each of " + std::to_string(left) + " more";
  lines.push_back(std::move(line));
  return lines;
}

Lines slowdownLines(const Explanation& run) {
  const Slowdown& slowdown = run.slowdown;
  if (!slowdown.reason.empty()) return {"slowdown is not known: " + slowdown.reason};
  Lines lines = {"a step takes " + ratioText(slowdown.total) +
                 " times as long as if work of one kind were equally long everywhere"};
  std::string alone;
  bool isMoreThanAll = false;
  const auto isBoundOf = [&](const std::string& what, const auto& name) {
    if constexpr (std::is_same_v<std::decay_t<decltype(name)>, int>) {
      const std::vector<int>& stages = slowdown.boundStages;
      return what == "stage" && std::binary_search(stages.begin(), stages.end(), name);
    }
    return false;
  };
  const auto most = [&](const auto& numbers, const std::string& what, const auto& nameOf) {
    if (numbers.size() < 2) return;
    const auto largest =
        std::max_element(numbers.begin(), numbers.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const bool isBound = isBoundOf(what, largest->first);
    alone += alone.empty() ? "alone, " : ", ";
    alone += (isBound ? "no " + what : what + " " + nameOf(largest->first)) + " makes it " +
             (isBound ? "more than " : "") + ratioText(largest->second);
    isMoreThanAll = isMoreThanAll || (!isBound && largest->second > slowdown.total);
  };
  if (slowdown.total > 1.005) {
    most(slowdown.byStage, "stage", [](int stage) { return std::to_string(stage); });
    most(slowdown.byReplica, run.topology.tensorRanks > 1 ? "replica" : "pipeline",
         [&](int replica) { return replicaText(slowdown, replica); });
    most(slowdown.byKind, "kind", [](const std::string& kind) { return kind; });
    if (isMoreThanAll) alone += " (more than all together: other work is shorter than its ideal)";
    if (!alone.empty()) lines.push_back(std::move(alone));
    if (slowdown.mW && *slowdown.mW > 0 && slowdown.worstRanks.size() < slowdown.ranks.size()) {
      lines.push_back("without what is special about " + ranksText(slowdown.worstRanks) +
                      " it would be " +
                      ratioText(slowdown.total - *slowdown.mW * (slowdown.total - 1)));
    }
  }
  if (slowdown.total < 0.995) {
    lines.back() +=
        ": it is faster than that ideal, which gives messages and collectives the median of "
        "their kind; those that steps waited for may be shorter";
  }
  return lines;
}

Lines communicationLines(const Explanation& run) {
  Lines lines;
  if (run.communication.all > 0) {
    lines.push_back("communication takes " + formatDuration(run.communication.all) +
                    " on all ranks, " +
                    percentText(run.communication.exposed, run.communication.all) +
                    " of it outside of compute jobs");
  }
  if (run.tokensPerSecond) {
    lines.push_back(std::to_string(static_cast<long long>(*run.tokensPerSecond)) +
                    " tokens a second");
  }
  if (run.modelFlopsUtilization) {
    lines.push_back("model FLOPs utilization " + ratioText(*run.modelFlopsUtilization));
  }
  return lines;
}

namespace {

/// More ranks make tables that nobody reads; the JSON report has all.
constexpr std::size_t kMostRows = 32;
constexpr std::size_t kMostColumns = 16;

std::string findingsText(const RunReport& report) {
  const Explanation& run = report.explanation;
  std::string text = "\nfindings\n";
  const ShownFindings findings = shownFindings(report);
  std::size_t number = 0;
  for (const Finding* const finding : findings.list) {
    text += fitLine("  " + std::to_string(++number) + ". " + findingText(*finding));
    text += fitLine("     next: " + remedyText(*finding));
    const std::string gain = gainText(report, *finding);
    if (!gain.empty()) text += fitLine("     gain: " + gain);
    const std::string command = findCommandOf(report, *finding);
    if (!command.empty()) text += "     " + command + "\n";
  }
  if (findings.list.empty()) text += "  " + noFindings(run) + "\n";
  if (report.all) return text;
  if (findings.left > 0) {
    text += "  " + countText(findings.left, "more finding") + ": --all\n";
  }
  std::vector<Finding> left;
  std::copy_if(run.findings.begin(), run.findings.end(), std::back_inserter(left),
               [&](const Finding& finding) { return isMinor(report, finding); });
  const std::string minor = minorFindingsText(left);
  return minor.empty() ? text : text + "  " + minor + ": --all\n";
}

std::string shareText(Nanoseconds part, Nanoseconds whole) {
  return part == 0 ? "-" : percentText(part, whole);
}

std::string rankTable(const Explanation& run) {
  std::set<BubbleClass> seen;
  for (const ExplainedRank& rank : run.ranks) {
    for (const BubbleClass c : kReportedClasses) {
      if (rank.bubbles[static_cast<std::size_t>(c)] > 0) seen.insert(c);
    }
  }
  std::vector<std::string> header = {"rank", "busy", "idle"};
  for (const BubbleClass c : kReportedClasses) {
    if (seen.contains(c)) header.emplace_back(bubbleClassName(c));
  }
  TextTable table(header);
  std::vector<std::uint32_t> rows(run.ranks.size());
  std::iota(rows.begin(), rows.end(), 0U);
  rows = ascending(run, std::move(rows));
  rows.resize(std::min(rows.size(), kMostRows));
  for (const std::uint32_t i : rows) {
    const ExplainedRank& rank = run.ranks[i];
    const Nanoseconds whole = rank.busy + rank.idle;
    std::vector<std::string> row = {std::to_string(rank.rank), formatDuration(rank.busy),
                                    formatDuration(rank.idle)};
    for (const BubbleClass c : kReportedClasses) {
      if (seen.contains(c)) {
        row.push_back(shareText(rank.bubbles[static_cast<std::size_t>(c)], whole));
      }
    }
    table.addRow(std::move(row));
  }
  std::string text = "\nidle time of each rank, in shares of the steps' time\n" + table.toText();
  if (run.ranks.size() > kMostRows) {
    text += "and " + countText(run.ranks.size() - kMostRows, "more rank") + "; --json has all\n";
  }
  return text;
}

/// What jobs of each rank are made of, a step; empty where no ranks meet inside jobs.
std::string insideTable(const Explanation& run) {
  if (run.inside.empty()) return {};
  // Without a device nothing is known of launches; times of traces are rounded.
  const bool areLaunched = std::any_of(run.inside.begin(), run.inside.end(), [](const auto& each) {
    return each.steps > 0 && each.parts.launchBound / each.steps >= kNsPerUs;
  });
  std::vector<std::string> header = {"rank", "own", "waiting", "moving"};
  if (areLaunched) header.emplace_back("launch-bound");
  const auto groups = groupsOf(run.inside);
  const bool haveGroups = groups.size() > 1;
  for (const auto& [use, kind] : groups) {
    if (haveGroups) header.push_back(groupText(use, kind));
  }
  TextTable table(header);
  std::size_t shown = 0;
  for (const InsideTimes& times : run.inside) {
    if (times.steps == 0 || shown++ == kMostRows) break;
    const auto perStep = [&](Nanoseconds time) { return formatDuration(time / times.steps); };
    std::vector<std::string> row = {std::to_string(times.rank), perStep(times.parts.own),
                                    perStep(times.parts.waiting), perStep(times.parts.moving)};
    if (areLaunched) row.push_back(perStep(times.parts.launchBound));
    for (const auto& [use, kind] : groups) {
      if (!haveGroups) break;
      const InsideTimes::OfGroups* const of = times.of(use, kind);
      row.push_back(of == nullptr ? "-" : perStep(of->waiting) + " + " + perStep(of->moving));
    }
    table.addRow(std::move(row));
  }
  std::string text = "\ninside the jobs of each rank, a step";
  if (haveGroups) {
    text += "; of groups: waiting for the last member + moving";
  } else if (!groups.empty()) {
    text += "; collectives: " + groupText(groups.begin()->first, groups.begin()->second);
  }
  text += " (of the ranks of a stage a slow one has the longest own time, and waits least)\n" +
          table.toText();
  if (run.inside.size() > kMostRows) {
    text += "and " + countText(run.inside.size() - kMostRows, "more rank") + "; --json has all\n";
  }
  return text;
}

/// Rank by culprit; empty where nobody costs anybody anything.
std::string costTable(const Explanation& run) {
  std::map<std::uint32_t, Nanoseconds> ofCulprit;
  std::map<std::uint32_t, Nanoseconds> ofWaiting;
  for (const auto& [pair, time] : run.culprits.byRanks) {
    ofWaiting[pair.first] += time;
    ofCulprit[pair.second] += time;
  }
  if (ofCulprit.empty()) return {};
  const std::vector<std::uint32_t> culprits = mostExpensive(run, ofCulprit, kMostColumns);
  const std::vector<std::uint32_t> waiting = mostExpensive(run, ofWaiting, kMostRows);
  std::vector<std::string> header = {"waits"};
  for (const std::uint32_t culprit : culprits) {
    header.push_back("for rank " + std::to_string(run.ranks[culprit].rank));
  }
  TextTable table(header);
  for (const std::uint32_t r : waiting) {
    std::vector<std::string> row = {"rank " + std::to_string(run.ranks[r].rank)};
    for (const std::uint32_t culprit : culprits) {
      const auto found = run.culprits.byRanks.find({r, culprit});
      row.push_back(found == run.culprits.byRanks.end() ? "-" : formatDuration(found->second));
    }
    table.addRow(std::move(row));
  }
  std::string text = "\nwho costs whom: idle time" +
                     std::string(run.inside.empty() ? "" : " and waits inside jobs") +
                     " with a culprit\n" + table.toText();
  if (culprits.size() < ofCulprit.size() || waiting.size() < ofWaiting.size()) {
    text += "these have most of it, of " +
            countText(ofWaiting.size(), "rank that waits, for ", "ranks that wait, for ") +
            countText(ofCulprit.size(), "rank") + "; --json has all\n";
  }
  return text;
}

std::string stepTable(const Explanation& run) {
  TextTable table({"over steps", "mean", "median", "99 %"});
  for (const StepFigure& figure : stepFigures()) {
    if (!figure.isInTables()) continue;
    const auto over = overSteps(run, figure);
    if (!over) continue;
    const bool isTime = std::string_view(figure.key).ends_with("_ns");
    const auto show = [&](double value) {
      return isTime ? formatDuration(static_cast<Nanoseconds>(value)) : ratioText(value);
    };
    table.addRow({figure.heading, show(over->mean), show(over->median), show(over->p99)});
  }
  return "\n" + countText(countedSteps(run), "step counts", "steps count") + "\n" + table.toText();
}

/// By how much jobs could have been later; empty where that is not known.
std::string slackTable(const Explanation& run) {
  if (run.slackByStage.empty() || run.slackByStage.size() > kMostRows) return {};
  TextTable table({"stage", "least", "median"});
  for (const auto& [stage, slack] : run.slackByStage) {
    table.addRow(
        {std::to_string(stage), formatDuration(slack.least), formatDuration(slack.median)});
  }
  return "\nslack of jobs: how much later they could end in a step of the same length\n" +
         table.toText();
}

/// Names of kernels may be hundreds of characters long.
std::string shortened(const std::string& name) {
  constexpr std::size_t kMost = 72;
  return name.size() <= kMost ? name : name.substr(0, kMost - 3) + "...";
}

/// The best advice.
std::string lastLine(const RunReport& report) {
  if (report.advice == nullptr) return {};
  return "\n" + fitLine("advice: " + firstAdvice(*report.advice) + "; pipe-trace advise says more");
}

}  // namespace

std::string timeByNameText(const std::vector<TimeByName>& names, bool all) {
  const std::size_t shown = all ? names.size() : std::min(names.size(), kMostRows);
  TextTable table({"own", "total", "calls", "rank", ""});
  for (std::size_t i = 0; i < shown; ++i) {
    const TimeByName& each = names[i];
    table.addRow({formatDuration(each.own), formatDuration(each.total), std::to_string(each.calls),
                  std::to_string(each.rank), ""});
  }
  std::string text =
      "\ntime by name and rank in the whole recording; own: without what ran inside\n";
  std::size_t row = 0;
  const std::string lines = table.toText();
  for (std::size_t at = 0; at < lines.size(); ++row) {
    const std::size_t end = lines.find('\n', at);
    text +=
        fitLine(lines.substr(at, end - at) + (row == 0 ? "name" : shortened(names[row - 1].name)));
    at = end + 1;
  }
  if (shown < names.size()) {
    text += "and " + countText(names.size() - shown, "more row") + ": --all\n";
  }
  return text;
}

std::string runReportText(const RunReport& report) {
  const Explanation& run = report.explanation;
  const std::string path = textOfLines(pathLines(run));
  Lines slowdown = slowdownLines(run);
  for (std::size_t i = 1; i < slowdown.size(); ++i) slowdown[i].insert(0, "  ");
  const std::string names =
      report.names == nullptr ? std::string() : timeByNameText(*report.names, report.all);
  return textOfLines(doubtLines(report)) + textOfLines(runHeadLines(report)) +
         findingsText(report) + rankTable(run) + insideTable(run) + costTable(run) +
         stepTable(run) + (path.empty() ? "" : "\n" + path) + slackTable(run) + "\n" +
         textOfLines(slowdown) + textOfLines(communicationLines(run)) + names + lastLine(report);
}

}  // namespace pipetrace
