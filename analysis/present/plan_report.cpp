#include "analysis/present/plan_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/present/summary_report.h"
#include "analysis/present/text_table.h"
#include "analysis/run/costs/costs_file.h"
#include "schedule/fingerprint.h"
#include "schedule/partition/partition_file.h"
#include "trace/text/decimal_time.h"
#include "trace/text/folded_line.h"
#include "trace/text/number_text.h"

namespace pipetrace {

namespace {

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
  if (plan.replicas > 1) text += countText(plan.replicas, "replica") + " of ";
  text += countText(plan.ranksOfReplica(), "rank");
  const bool isBidirectional = plan.isBidirectional();
  if (plan.placement.hasSeveralRanks() && !isBidirectional) {
    text += ", stages on ranks " + toText(plan.placement.ranksOfStage);
  } else if (const int chunks = plan.chunksOfDirection(); chunks > 1) {
    text += " of " + std::to_string(chunks) + " chunks";
  }
  if (isBidirectional) text += " in both directions";
  text += ", " + countText(plan.microBatchesOfReplica(), "micro-batch", "micro-batches");
  // A file that has lost its backward passes is a plan, too.
  if (plan.isForwardOnly()) text += ", forwards only";
  return plan.credits > 0 ? text + ", " + countText(plan.credits, "credit") : text;
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

namespace {

std::string blockNumbers(int first, int count) {
  return std::to_string(first) + (count > 1 ? "-" + std::to_string(first + count - 1) : "");
}

std::string cutTable(const BlockPartition& partition) {
  TextTable table({"stage", "blocks", "number", "run again", "recompute ratio"});
  int first = 0;
  for (std::size_t s = 0; s < partition.blocks.size(); ++s) {
    const int count = partition.blocks[s];
    const int again = partition.recomputedOf(static_cast<int>(s));
    table.addRow({std::to_string(s), blockNumbers(first, count), std::to_string(count),
                  std::to_string(again), recomputeRatio(again, count)});
    first += count;
  }
  return table.toText();
}

std::string stepText(const FoundPartition& best, const FoundPartition& even) {
  const std::string text = "step " + formatDuration(best.step) + ", ";
  if (even.excess > 0) {
    return text + "the even partition exceeds the limit by " + bytesText(even.excess);
  }
  const std::string less =
      best.step < even.step ? percentText(even.step - best.step, even.step) + " less than" : "as";
  return text + less + " the even partition's " + formatDuration(even.step);
}

}  // namespace

std::string partitionText(const BestPartition& partition, int width) {
  const FoundPartition& best = partition.best;
  const std::string text = stepText(best, partition.even) +
                           (partition.isProven ? "; no partition has a shorter one"
                                               : "; the shortest one found, not all were tried");
  return cutTable(best.partition) + foldedLine(text, static_cast<std::size_t>(std::max(width, 0))) +
         "\n";
}

namespace {

using Json = nlohmann::ordered_json;

/// A number, or one for each stage where they differ.
Json updatesJson(const Plan& plan) {
  const int every = plan.updates.ofAllStages();
  if (every > 0 || !plan.isAsynchronous()) return every;
  return plan.updates.every;
}

Json scheduleJson(const Plan& plan) {
  Json actions = Json::array();
  for (const auto& rank : plan.ranks) {
    Json row = Json::array();
    for (const Action& action : rank) {
      row.push_back(action.stage < 0 ? Json(nullptr) : Json(toText(action)));  // could not be read
    }
    actions.push_back(row);
  }
  return {{"name", plan.name},
          {"ranks", plan.numRanks()},
          {"stages", plan.numStages},
          {"micro_batches", plan.numMicroBatches},
          {"bidirectional", plan.isBidirectional()},
          {"replicas", plan.replicas},
          {"ranks_of_stage", plan.placement.ranksOfStage},
          {"updates_every", updatesJson(plan)},
          {"forward_only", plan.isForwardOnly()},
          {"credits", plan.credits},
          {"fingerprint", fingerprintText(fingerprint(plan))},
          {"actions", actions}};
}

Json rankJson(const PlanReport& report, int rank) {
  const PlanFigures::Rank& figures = report.figures->ranks[static_cast<std::size_t>(rank)];
  Json json = {{"rank", rank},
               {"stages", report.plan.stagesOfRank(rank)},
               {"busy_ns", figures.busy},
               {"idle_ns", figures.idle},
               {"bubble_ratio", figures.bubbleRatio},
               {"peak_activations", figures.peakActivations}};
  json["peak_memory_bytes"] = report.hasMemory ? Json(figures.peakMemory) : Json(nullptr);
  json["weight_versions"] = figures.weightVersions;
  json["weight_distance"] = figures.weightDistance;
  return json;
}

Json criticalPathJson(const CriticalPath& path) {
  Json links = Json::array();
  for (const CriticalPath::Link& link : path.links) {
    Json json = {{"kind", link.name()}, {"rank", link.rank}};
    if (link.peer >= 0) json["peer"] = link.peer;
    json["action"] = link.text;
    json["begin_ns"] = link.begin;
    json["end_ns"] = link.end;
    json["reason"] = toText(link.reason);
    links.push_back(json);
  }
  return links;
}

Json closedFormJson(const std::optional<ClosedForm>& form) {
  if (!form) return nullptr;
  return {{"length_ns", form->length}, {"peak_activations", form->peakLive}};
}

Json partitionJson(const BestPartition& partition) {
  const FoundPartition& best = partition.best;
  Json ratios = Json::array();
  Json recomputed = Json::array();
  for (std::size_t s = 0; s < best.partition.blocks.size(); ++s) {
    const int again = best.partition.recomputedOf(static_cast<int>(s));
    recomputed.push_back(again);
    ratios.push_back(recomputeRatioNumber(again, best.partition.blocks[s]));
  }
  const bool fitsEvenly = partition.even.excess == 0;
  return {{"blocks", best.partition.blocks},
          {"recomputed", recomputed},
          {"recompute_ratio", ratios},
          {"step_ns", best.step},
          {"even_step_ns", fitsEvenly ? Json(partition.even.step) : Json(nullptr)},
          {"proven", partition.isProven}};
}

void addFigures(Json& json, const PlanReport& report) {
  json["steps"] = report.steps;
  json["length_ns"] = report.figures->length;
  json["windows_ns"] = report.figures->windows;
  json["bubble_ratio"] = report.figures->bubbleRatio;
  json["span_bubble"] = report.figures->spanBubble;
  Json ranks = Json::array();
  for (int rank = 0; rank < report.plan.numRanks(); ++rank) {
    ranks.push_back(rankJson(report, rank));
  }
  json["ranks"] = ranks;
  json["critical_path"] = criticalPathJson(report.figures->criticalPath);
  json["closed_form"] = closedFormJson(report.figures->closedForm);
}

}  // namespace

std::string planJson(const PlanReport& report) {
  Json json = {{"schedule", scheduleJson(report.plan)}};
  if (report.costs != nullptr) {
    json["costs"] = Json::parse(toCostsFile(givenCosts(*report.costs)));
  }
  json["faults"] = report.faults;
  json["comm_streams"] = report.commStreams.empty() ? Json(nullptr) : Json(report.commStreams);
  if (report.partition != nullptr) json["partition"] = partitionJson(*report.partition);
  if (report.figures != nullptr) addFigures(json, report);
  Json problems = Json::array();
  for (const Problem& problem : report.problems) {
    Json entry = {{"rank", problem.rank}, {"cell", problem.cell}, {"message", problem.message}};
    if (problem.line > 0) entry.update({{"line", problem.line}, {"column", problem.column}});
    problems.push_back(entry);
  }
  json["problems"] = problems;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipetrace
