#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "analysis/report/text_report.h"
#include "analysis/report/text_table.h"
#include "analysis/run_report/advice_report.h"
#include "analysis/run_report/run_figures.h"
#include "analysis/run_report/run_report.h"
#include "analysis/run_report/run_sentences.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
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
    text += "  " + std::to_string(++number) + ". " + finding->text + "\n";
    text += "     next: " + finding->advice + "\n";
    const std::string command = findCommandOf(report, *finding);
    if (!command.empty()) text += "     " + command + "\n";
  }
  if (findings.list.empty()) text += "  " + noFindings(run) + "\n";
  if (report.all) return text;
  if (findings.left > 0) {
    text += "  " + numbered(findings.left, "more finding", "more findings") + ": --all\n";
  }
  const std::string minor = minorFindingsText(run.findings);
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
    text += "and " + numbered(run.ranks.size() - kMostRows, "more rank", "more ranks") +
            "; --json has all\n";
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
    if (!figure.isInTables()) continue;
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

/// The best advice.
std::string lastLine(const RunReport& report) {
  if (report.advice == nullptr) return {};
  return "\nadvice: " + firstAdvice(*report.advice) + "; pipe-trace advise says more\n";
}

}  // namespace

std::string runReportText(const RunReport& report) {
  const Explanation& run = report.explanation;
  const std::string path = pathText(run);
  return runHeadline(report) + findingsText(report) + rankTable(run) + costTable(run) +
         stepTable(run) + (path.empty() ? "" : "\n" + path) + slackTable(run) + "\n" +
         slowdownText(run) + communicationText(run) + lastLine(report);
}

}  // namespace pipetrace
