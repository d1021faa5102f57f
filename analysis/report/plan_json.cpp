#include <nlohmann/json.hpp>

#include "analysis/costs/costs_file.h"
#include "analysis/report/plan_report.h"
#include "schedule/fingerprint.h"
#include "schedule/partition/partition_text.h"

namespace pipetrace {
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
