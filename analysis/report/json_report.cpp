#include "analysis/report/json_report.h"

#include <nlohmann/json.hpp>

namespace pipetrace {
namespace {

using Json = nlohmann::ordered_json;

Json toJson(const StepSummary& step) {
  Json ranks = Json::array();
  for (const RankStep& rank : step.ranks) {
    ranks.push_back({{"rank", rank.rank}, {"busy_ns", rank.busy}, {"idle_ns", rank.idle}});
  }
  return {{"step", step.step},
          {"replica", step.replica},
          {"begin_ns", step.begin},
          {"end_ns", step.end},
          {"duration_ns", step.duration()},
          {"window_ns", step.window()},
          {"between_steps_ns", step.betweenSteps},
          {"bubble_ratio", step.bubbleRatio},
          {"span_bubble", step.spanBubble},
          {"ranks", ranks}};
}

Json toJson(const RankSummary& rank) {
  return {{"rank", rank.rank},
          {"replica", rank.replica},
          {"busy_ns", rank.busy},
          {"idle_ns", rank.idle},
          {"bubble_ratio", rank.bubbleRatio}};
}

}  // namespace

std::string jsonReport(const RunSummary& summary) {
  Json ranks = Json::array();
  for (const RankSummary& rank : summary.ranks) ranks.push_back(toJson(rank));
  Json steps = Json::array();
  for (const StepSummary& step : summary.steps) steps.push_back(toJson(step));
  const Json report = {{"bubble_ratio", summary.bubbleRatio},
                       {"bubble_classes", "unknown"},
                       {"topology_inferred", summary.topologyInferred},
                       {"ranks", ranks},
                       {"steps", steps}};
  return report.dump(2) + "\n";
}

}  // namespace pipetrace
