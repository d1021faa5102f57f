#include "analysis/run_report/run_sentences.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "analysis/report/other_phases.h"
#include "analysis/report/text_report.h"
#include "analysis/run_report/find_query.h"
#include "analysis/run_report/run_figures.h"
#include "trace/text/decimal_time.h"
#include "trace/text/ranks_text.h"
#include "trace/text/shell_word.h"
#include "trace/text/stage_ranks_text.h"

namespace pipetrace {
namespace {

/// Without --all.
constexpr std::size_t kMostFindings = 8;

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
  const bool isNamed = !names.empty() && schedule.given == names.front();
  if (!schedule.given.empty() && !isNamed) text += "; " + schedule.givenText();
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

/// "2", "1 (ranks 4 to 7)".
std::string replicaText(const Slowdown& slowdown, int replica) {
  std::vector<int> ranks;
  for (const Slowdown::Rank& rank : slowdown.ranks) {
    if (rank.replica == replica) ranks.push_back(rank.number);
  }
  return std::to_string(replica) + (ranks.empty() ? "" : " (" + ranksText(ranks) + ")");
}

}  // namespace

std::string numbered(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string runHeadline(const RunReport& report) {
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

ShownFindings shownFindings(const RunReport& report) {
  ShownFindings shown;
  for (const Finding& finding : report.explanation.findings) {
    if (!report.all && finding.isMinor) continue;
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
  return query.empty() ? "" : report.viewCommand + " --find " + shellWord(query);
}

std::string pathText(const Explanation& run) {
  Nanoseconds all = 0;
  for (const auto& [kind, time] : run.pathShares.byKind) all += time;
  if (all == 0) return {};
  std::vector<std::pair<std::string, Nanoseconds>> kinds(run.pathShares.byKind.begin(),
                                                         run.pathShares.byKind.end());
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = "the critical path consists of ";
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

std::string slowdownText(const Explanation& run) {
  const Slowdown& slowdown = run.slowdown;
  if (!slowdown.reason.empty()) return "slowdown is not known: " + slowdown.reason + "\n";
  std::string text = "a step takes " + ratioText(slowdown.total) +
                     " times as long as if work of one kind were equally long everywhere";
  bool isFirst = true;
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
    text += isFirst ? "\n  alone, " : ", ";
    text += (isBound ? "no " + what : what + " " + nameOf(largest->first)) + " makes it " +
            (isBound ? "more than " : "") + ratioText(largest->second);
    isFirst = false;
    isMoreThanAll = isMoreThanAll || (!isBound && largest->second > slowdown.total);
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

}  // namespace pipetrace
