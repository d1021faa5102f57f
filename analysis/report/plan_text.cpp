#include <algorithm>

#include "analysis/report/plan_report.h"
#include "analysis/report/text_report.h"
#include "analysis/report/text_table.h"
#include "trace/text/bytes_text.h"
#include "trace/text/decimal_time.h"
#include "trace/text/fixed_text.h"
#include "trace/text/folded_line.h"

namespace pipetrace {
namespace {

std::string counted(int count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string rankTable(const PlanReport& report) {
  const auto& ranks = report.figures->ranks;
  const bool versions = std::any_of(ranks.begin(), ranks.end(), [](const PlanFigures::Rank& rank) {
    return rank.weightVersions > 1 || rank.weightDistance > 0;
  });
  std::vector<std::string> header = {"rank", "busy", "idle", "bubble ratio", "peak activations"};
  if (report.hasMemory) header.emplace_back("peak memory");
  if (versions) header.insert(header.end(), {"weight versions", "weight distance"});
  TextTable table(header);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    std::vector<std::string> row = {std::to_string(r), formatDuration(ranks[r].busy),
                                    formatDuration(ranks[r].idle), ratioText(ranks[r].bubbleRatio),
                                    std::to_string(ranks[r].peakActivations)};
    if (report.hasMemory) row.push_back(bytesText(ranks[r].peakMemory));
    if (versions) {
      row.push_back(std::to_string(ranks[r].weightVersions));
      row.push_back(std::to_string(ranks[r].weightDistance));
    }
    table.addRow(row);
  }
  return table.toText();
}

/// The entries of a critical path. Jobs in a row on one rank are one entry: "rank 3 3F0 ... 3B7 (16
/// jobs)".
std::vector<std::string> stationsOf(const CriticalPath& path) {
  std::vector<std::string> stations;
  const auto& links = path.links;
  for (std::size_t i = 0; i < links.size();) {
    if (isTransfer(links[i].kind)) {
      const char* const what =
          links[i].isAcknowledgement ? "acknowledgement to rank " : "message to rank ";
      stations.push_back(what + std::to_string(links[i].peer));
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    std::size_t jobs = links[i].isLaunch ? 0 : 1;  // a launch has its job after it
    while (end < links.size() && links[end].rank == links[i].rank && !isTransfer(links[end].kind)) {
      if (!links[end++].isLaunch) ++jobs;
    }
    std::string text = "rank " + std::to_string(links[i].rank) + " " + links[i].text;
    if (jobs > 1) {
      text += (jobs > 2 ? " ... " : " ") + links[end - 1].text;
      if (jobs > 2) text += " (" + std::to_string(jobs) + " jobs)";
    }
    stations.push_back(text);
    i = end;
  }
  return stations;
}

std::string criticalPathText(const CriticalPath& path, std::size_t width) {
  if (path.links.empty()) return "";
  constexpr std::size_t kShown = 20;
  const std::vector<std::string> stations = stationsOf(path);
  const std::size_t shown = stations.size() > kShown + 1 ? kShown : stations.size();
  std::string text = "critical path:";
  std::size_t column = text.size();
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string entry = " " + stations[i] + (i + 1 < stations.size() ? "," : "");
    if (column + entry.size() > width) {
      text += "\n ";
      column = 1;
    }
    text += entry;
    column += entry.size();
  }
  if (shown < stations.size()) {
    text += " and " + std::to_string(stations.size() - shown) + " more";
  }
  text += "\n";
  std::string shares = "  of it";
  const char* separator = " ";
  for (const auto& [name, time] : path.totals()) {
    shares += separator + std::string(name) + " " + formatDuration(time);
    separator = ", ";
  }
  return text + foldedLine(shares, width) + "\n";
}

std::string theoryText(const ClosedForm& form, std::size_t width) {
  std::string text = "theory: length of a step " + formatDuration(form.length);
  text += ", peak activations";
  constexpr std::size_t kShown = 16;
  for (std::size_t i = 0; i < std::min(form.peakLive.size(), kShown); ++i) {
    text += " " + std::to_string(form.peakLive[i]);
  }
  if (form.peakLive.size() > kShown) text += " ...";
  return foldedLine(text, width) + "\n";
}

}  // namespace

std::string planTitle(const Plan& plan) {
  std::string text = plan.name + ", ";
  if (plan.replicas > 1) text += counted(plan.replicas, "replica", "replicas") + " of ";
  text += counted(plan.ranksOfReplica(), "rank", "ranks");
  const bool isBidirectional = plan.isBidirectional();
  if (plan.placement.hasSeveralRanks() && !isBidirectional) {
    text += ", stages on ranks " + toText(plan.placement.ranksOfStage);
  } else if (const int chunks = plan.chunksOfDirection(); chunks > 1) {
    text += " of " + std::to_string(chunks) + " chunks";
  }
  if (isBidirectional) text += " in both directions";
  text += ", " + counted(plan.microBatchesOfReplica(), "micro-batch", "micro-batches");
  // A file that has lost its backward passes is a plan, too.
  if (plan.isForwardOnly()) text += ", forwards only";
  return plan.credits > 0 ? text + ", " + counted(plan.credits, "credit", "credits") : text;
}

std::string planLine(const PlanFigures& figures) {
  std::string text = "length " + formatDuration(figures.length);
  if (figures.windows != figures.length) {
    text += ", windows of steps " + formatDuration(figures.windows);
  }
  return text + ", bubble ratio " + ratioText(figures.bubbleRatio) + ", span bubble " +
         ratioText(figures.spanBubble);
}

std::string faultsLine(const std::vector<std::string>& faults) {
  std::string text = "with planted faults:";
  const char* separator = " ";
  for (const std::string& fault : faults) {
    text += separator + fault;
    separator = ", ";
  }
  return text;
}

std::string planText(const PlanReport& report, int width) {
  const auto columns = static_cast<std::size_t>(std::max(width, 0));
  std::string line = planLine(*report.figures);
  if (report.steps > 1) line += ", " + std::to_string(report.steps) + " steps";
  std::string text = foldedLine(line, columns) + "\n";
  if (!report.faults.empty()) text += foldedLine(faultsLine(report.faults), columns) + "\n";
  if (report.partition != nullptr) text += "\n" + partitionText(*report.partition, width);
  text += "\n" + rankTable(report) + "\n" + criticalPathText(report.figures->criticalPath, columns);
  if (report.figures->closedForm) text += theoryText(*report.figures->closedForm, columns);
  return text;
}

}  // namespace pipetrace
