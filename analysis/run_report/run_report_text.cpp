#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "analysis/report/other_phases.h"
#include "analysis/report/text_report.h"
#include "analysis/report/text_table.h"
#include "analysis/run_report/find_query.h"
#include "analysis/run_report/run_figures.h"
#include "analysis/run_report/run_report.h"
#include "trace/text/decimal_time.h"
#include "trace/text/folded_line.h"
#include "trace/text/ranks_text.h"
#include "trace/text/shell_word.h"
#include "trace/text/stage_ranks_text.h"

namespace pipetrace {
namespace {

/// More ranks make tables that nobody reads; the JSON report has all.
constexpr std::size_t kMostRows = 32;
constexpr std::size_t kMostColumns = 16;
/// Without --all.
constexpr std::size_t kMostFindings = 8;

std::string numbered(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

/// "schedule 1F1B (as PipeDream)": recognised from the order of jobs.
std::string scheduleLine(const RunReport& report) {
  const FollowedSchedule& schedule = report.explanation.schedule;
  std::string text = "schedule: " + toText(schedule.recognised);
  const std::vector<std::string>& names = schedule.recognised.names;
  for (std::size_t i = 1; i < names.size(); ++i) {
    text += (i == 1 ? ", also the order of " : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  if (!schedule.ranksOfStage.empty()) {
    text += (names.empty() ? "; stages on ranks " : " with stages on ranks ") +
            pipetrace::toText(schedule.ranksOfStage);
  }
  const std::string given = givenScheduleOf(report.timeline);
  if (!given.empty() && (names.empty() || given != names.front())) {
    text += "; the logs name " + given;
  }
  if (schedule.deviationCount > 0) {
    text += "; " + numbered(static_cast<std::size_t>(schedule.deviationCount), "job", "jobs") +
            " at other places, such as " + schedule.deviations.front().job + " of rank " +
            std::to_string(schedule.deviations.front().rank) + " in step " +
            std::to_string(schedule.deviations.front().step);
  }
  if (!schedule.problem.empty()) text += "; " + schedule.problem;
  return text + "\n";
}

/// Which steps count, where not all do.
std::string countedLine(const Explanation& run, std::size_t steps) {
  if (run.counted.areAll()) return {};
  if (run.counted.leftOut()) {
    return run.counted.leftOutText() + " of all figures and findings; --steps " +
           std::to_string(run.counted.leftOut()->step) + ": has it\n";
  }
  return "all figures and findings are about " + std::to_string(countedSteps(run)) + " of " +
         numbered(steps, "step", "steps") + "\n";
}

std::string headline(const RunReport& report) {
  const Arrangement run = arrangementOf(report.explanation);
  std::string text = numbered(run.ranks, "rank", "ranks");
  if (run.pipelines > 1) text += " in " + std::to_string(run.pipelines) + " pipelines";
  if (run.tensorRanks > 1) {
    text += " (" + numbered(static_cast<std::size_t>(run.replicas), "replica", "replicas") +
            " of " + std::to_string(run.tensorRanks) + " tensor-parallel ranks each)";
  }
  text += ", " + numbered(run.steps.size(), "step", "steps") + ", " +
          numbered(run.jobs, "compute job", "compute jobs");
  const RunSummary& summary = report.explanation.summary;
  text += "\n" + scheduleLine(report) + asynchronousLine(summary) + phaseLines(summary);
  return text + countedLine(report.explanation, run.steps.size());
}

std::string findingsText(const RunReport& report) {
  const Explanation& run = report.explanation;
  std::string text = "\nfindings\n";
  std::size_t shown = 0;
  std::size_t left = 0;
  Nanoseconds idle = 0;
  for (const ExplainedRank& rank : run.ranks) idle += rank.idle;
  for (const Finding& finding : run.findings) {
    if (!report.all && finding.isMinor) continue;
    if (!report.all && shown == kMostFindings) {
      ++left;
      continue;
    }
    text += "  " + std::to_string(++shown) + ". " + finding.text + "\n";
    text += "     next: " + finding.advice + "\n";
    const std::string query = report.viewCommand.empty() ? "" : findQueryOf(report, finding);
    if (!query.empty()) {
      text += "     " + report.viewCommand + " --find " + shellWord(query) + "\n";
    }
  }
  if (shown == 0) text += std::string("  ") + noFindingsText(idle) + "\n";
  if (report.all) return text;
  if (left > 0) text += "  " + numbered(left, "more finding", "more findings") + ": --all\n";
  const std::string minor = minorFindingsText(run.findings);
  return minor.empty() ? text : text + "  " + minor + ": --all\n";
}

std::string shareText(Nanoseconds part, Nanoseconds whole) {
  return part == 0 ? "-" : percentText(part, whole);
}

/// Indices of the ranks in the order of their numbers.
std::vector<std::uint32_t> ascending(const Explanation& run, std::vector<std::uint32_t> ranks) {
  std::sort(ranks.begin(), ranks.end(), [&](std::uint32_t a, std::uint32_t b) {
    return run.ranks[a].rank < run.ranks[b].rank;
  });
  return ranks;
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
    text += "and " + numbered(run.ranks.size() - kMostRows, "more rank", "more ranks") +
            "; --json has all\n";
  }
  return text;
}

/// The ranks with the most time, at most that many.
std::vector<std::uint32_t> mostExpensive(const Explanation& run,
                                         const std::map<std::uint32_t, Nanoseconds>& times,
                                         std::size_t most) {
  std::vector<std::pair<Nanoseconds, std::uint32_t>> byTime;
  for (const auto& [rank, time] : times) byTime.emplace_back(-time, rank);
  std::sort(byTime.begin(), byTime.end());
  byTime.resize(std::min(byTime.size(), most));
  std::vector<std::uint32_t> ranks;
  for (const auto& [time, rank] : byTime) ranks.push_back(rank);
  return ascending(run, std::move(ranks));
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
  std::string text = "\nwho costs whom: idle time with a culprit\n" + table.toText();
  if (culprits.size() < ofCulprit.size() || waiting.size() < ofWaiting.size()) {
    text += "these have most of it, of " + numbered(ofWaiting.size(), "rank", "ranks") +
            (ofWaiting.size() == 1 ? " that waits, for " : " that wait, for ") +
            numbered(ofCulprit.size(), "rank", "ranks") + "; --json has all\n";
  }
  return text;
}

std::string stepTable(const Explanation& run) {
  TextTable table({"over steps", "mean", "median", "99 %"});
  for (const StepFigure& figure : stepFigures()) {
    const auto over = overSteps(run, figure);
    if (!over) continue;
    const bool isTime = std::string_view(figure.key).ends_with("_ns");
    const auto show = [&](double value) {
      return isTime ? formatDuration(static_cast<Nanoseconds>(value)) : ratioText(value);
    };
    table.addRow({figure.heading, show(over->mean), show(over->median), show(over->p99)});
  }
  return "\n" + numbered(countedSteps(run), "step counts", "steps count") + "\n" + table.toText();
}

std::string pathText(const Explanation& run) {
  Nanoseconds all = 0;
  for (const auto& [kind, time] : run.pathShares.byKind) all += time;
  if (all == 0) return {};
  std::vector<std::pair<std::string, Nanoseconds>> kinds(run.pathShares.byKind.begin(),
                                                         run.pathShares.byKind.end());
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = "\nthe critical path consists of ";
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (i > 0) text += ", ";
    text += kinds[i].first + " " + percentText(kinds[i].second, all);
  }
  text += "\n";
  if (run.pathShares.byStage.size() > 1) {
    text += "by stage: ";
    bool isFirst = true;
    for (const auto& [stage, time] : run.pathShares.byStage) {
      text += (isFirst ? "" : ", ") + std::to_string(stage) + " " + percentText(time, all);
      isFirst = false;
    }
    text += "\n";
  }
  return text;
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

/// "2", "1 (ranks 4 to 7)".
std::string replicaText(const Slowdown& slowdown, int replica) {
  std::vector<int> ranks;
  for (const Slowdown::Rank& rank : slowdown.ranks) {
    if (rank.replica == replica) ranks.push_back(rank.number);
  }
  return std::to_string(replica) + (ranks.empty() ? "" : " (" + ranksText(ranks) + ")");
}

/// How much slower than its ideal, the stage, replica and kind that cost most of it, and what the
/// slowest ranks cost.
std::string slowdownText(const Explanation& run) {
  const Slowdown& slowdown = run.slowdown;
  if (!slowdown.reason.empty()) return "slowdown is not known: " + slowdown.reason + "\n";
  std::string text = "a step takes " + ratioText(slowdown.total) +
                     " times as long as if work of one kind were equally long everywhere";
  bool isFirst = true;
  bool isMoreThanAll = false;
  const auto most = [&](const auto& numbers, const std::string& what, const auto& nameOf) {
    if (numbers.size() < 2) return;
    const auto largest =
        std::max_element(numbers.begin(), numbers.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    text += (isFirst ? "\n  alone, " : ", ") + what + " " + nameOf(largest->first) + " makes it " +
            ratioText(largest->second);
    isFirst = false;
    isMoreThanAll = isMoreThanAll || largest->second > slowdown.total;
  };
  if (slowdown.total > 1.005) {
    most(slowdown.byStage, "stage", [](int stage) { return std::to_string(stage); });
    most(slowdown.byReplica, run.topology.tensorRanks > 1 ? "replica" : "pipeline",
         [&](int replica) { return replicaText(slowdown, replica); });
    most(slowdown.byKind, "kind", [](const std::string& kind) { return kind; });
    if (isMoreThanAll) text += " (more than all together: other work is shorter than its ideal)";
    if (slowdown.mW && slowdown.worstRanks.size() < slowdown.ranks.size()) {
      text += "\n  without what is special about " + ranksText(slowdown.worstRanks) +
              " it would be " + ratioText(slowdown.total - *slowdown.mW * (slowdown.total - 1));
    }
  }
  if (slowdown.total < 0.995) {
    text +=
        ": it is faster than that ideal, which gives messages and collectives the median of "
        "their kind; those that steps waited for may be shorter";
  }
  return text + "\n";
}

std::string communicationText(const Explanation& run) {
  std::string text;
  if (run.communication.all > 0) {
    text += "communication takes " + formatDuration(run.communication.all) + " on all ranks, " +
            percentText(run.communication.exposed, run.communication.all) +
            " of it with no compute job meanwhile\n";
  }
  if (run.tokensPerSecond) {
    text += std::to_string(static_cast<long long>(*run.tokensPerSecond)) + " tokens a second\n";
  }
  if (run.modelFlopsUtilization) {
    text += "model FLOPs utilization " + ratioText(*run.modelFlopsUtilization) + "\n";
  }
  return text;
}

}  // namespace

std::string runReportText(const RunReport& report) {
  const Explanation& run = report.explanation;
  return headline(report) + findingsText(report) + rankTable(run) + costTable(run) +
         stepTable(run) + pathText(run) + slackTable(run) + "\n" + slowdownText(run) +
         communicationText(run);
}

}  // namespace pipetrace
