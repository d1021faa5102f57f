#include <nlohmann/json.hpp>

#include "analysis/report/comparison_report.h"
#include "schedule/fingerprint.h"

namespace pipetrace {
namespace {

using ComparisonObject = nlohmann::ordered_json;

ComparisonObject timeJson(const std::optional<Nanoseconds>& time) {
  return time ? ComparisonObject(*time) : ComparisonObject(nullptr);
}

ComparisonObject comparedJson(const CompareInput& input, const ComparedPlan& plan) {
  ComparisonObject json = {{"schedule", plan.schedule},
                           {"chunks", plan.chunks},
                           {"name", plan.name},
                           {"fingerprint", fingerprintText(plan.fingerprint)},
                           {"length_ns", plan.length},
                           {"bubble_ratio", plan.bubbleRatio},
                           {"peak_activations", plan.peakActivations}};
  json["peak_memory_bytes"] =
      input.hasMemory ? ComparisonObject(plan.peakMemory) : ComparisonObject(nullptr);
  json["messages"] = plan.messages;
  json["order"] = plan.needsOrderInTime() ? "in-time" : "any";
  json["torch_order_ns"] = timeJson(plan.inTorchOrder);
  json["in_time_ns"] = timeJson(plan.inTime);
  json["asynchronous"] = plan.isAsynchronous;
  json["steady_step_ns"] = timeJson(plan.steadyStep);
  json["weight_versions"] = plan.weightVersions;
  json["weights_of_two_stages"] = plan.hasWeightsTwice;
  return json;
}

}  // namespace

std::string comparisonJson(const CompareInput& input, const ComparedPlans& compared,
                           const std::optional<ComparedRun>& run) {
  ComparisonObject plans = ComparisonObject::array();
  for (const ComparedPlan& plan : compared.plans) plans.push_back(comparedJson(input, plan));
  ComparisonObject leftOut = ComparisonObject::array();
  for (const LeftOutPlan& plan : compared.leftOut) {
    const std::string detail = plan.detail.empty() ? "" : ": " + plan.detail;
    leftOut.push_back(
        {{"schedule", plan.schedule}, {"chunks", plan.chunks}, {"reason", plan.reason + detail}});
  }
  ComparisonObject json = {{"ranks", input.ranks},
                           {"micro_batches", input.microBatches},
                           {"plans", plans},
                           {"left_out", leftOut}};
  if (run) {
    const ComparedPlan* const row = rowOf(*run, compared);
    json["run"] = {{"schedule", run->schedule}, {"chunks", run->chunks}};
    json["run"]["step_ns"] = timeJson(run->step > 0 ? std::optional(run->step) : std::nullopt);
    json["run"]["length_ns"] = timeJson(row == nullptr ? std::nullopt : std::optional(row->length));
    if (run->replicas > 1) {
      json["run"]["replica"] = run->replica;
      json["run"]["replicas"] = run->replicas;
    }
  }
  return json.dump(2, ' ', false, ComparisonObject::error_handler_t::replace) + "\n";
}

}  // namespace pipetrace
