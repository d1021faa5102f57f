#include "analysis/report/json_report.h"

#include <nlohmann/json.hpp>

#include "analysis/report/class_times.h"
#include "analysis/report/other_phases.h"
#include "analysis/report/summary_figures.h"

namespace pipetrace {
namespace {

using Json = nlohmann::ordered_json;

void addFigures(Json& object, const std::vector<SummaryFigure>& figures) {
  for (const SummaryFigure& figure : figures) {
    std::visit([&](auto value) { object[figure.key] = value; }, figure.value);
  }
}

/// Which pipeline it is of: its data-parallel index, and its tensor-parallel one.
void addPipeline(Json& object, int number, int tensorRanks) {
  object["replica"] = number / tensorRanks;
  if (tensorRanks > 1) object["tensor_parallel_index"] = number % tensorRanks;
}

Json toJson(const StepSummary& step, int tensorRanks) {
  Json object = {{"step", step.step}};
  addPipeline(object, step.replica, tensorRanks);
  addFigures(object, figuresOf(step));
  if (step.isWholeRun) object["whole_run"] = true;
  Json& ranks = object["ranks"] = Json::array();
  for (const RankStep& rank : step.ranks) {
    ranks.push_back({{"rank", rank.rank}, {"busy_ns", rank.busy}, {"idle_ns", rank.idle}});
  }
  return object;
}

Json toJson(const RankSummary& rank, int tensorRanks) {
  Json object = {{"rank", rank.rank}};
  addPipeline(object, rank.replica, tensorRanks);
  addFigures(object, figuresOf(rank));
  return object;
}

Json toJson(const StageDeviceWork& work) {
  Json object = {{"rank", work.rank}};
  if (work.stage != kNotGiven) object["stage"] = work.stage;
  object["jobs"] = work.jobs;
  object["kernels"] = work.kernels;
  object["length_ns"] = work.length;
  object["device_busy_ns"] = work.busy;
  object["comm_inside_ns"] = work.commInside;
  object["launch_bound_ns"] = work.launchBound();
  return object;
}

Json stagesJson(const Timeline& timeline, int threads) {
  Json list = Json::array();
  for (const StageTimes& stage : stageTimesOf(timeline, threads)) {
    Json medians = Json::object();
    for (const auto& [kind, median] : stage.medians) medians[std::string(logName(kind))] = median;
    for (const auto& [kind, median] : stage.others) medians[std::string(logName(kind))] = median;
    list.push_back({{"stage", stage.stage}, {"ranks", stage.ranks}, {"medians_ns", medians}});
  }
  return list;
}

}  // namespace

std::string jsonReport(const Timeline& timeline, const RunSummary& summary, int threads) {
  const std::map<int, ClassTimes> classes = classTimesOf(timeline, threads);
  Json ranks = Json::array();
  for (const RankSummary& rank : summary.ranks) {
    ranks.push_back(toJson(rank, summary.tensorRanks));
    const auto found = classes.find(rank.rank);
    if (found == classes.end()) continue;
    Json& bubbles = ranks.back()["bubbles"] = Json::object();
    for (const BubbleClass c : kReportedClasses) {
      const Nanoseconds time = found->second[static_cast<std::size_t>(c)];
      if (isReported(c, time)) bubbles[std::string(bubbleClassName(c))] = time;
    }
  }
  Json steps = Json::array();
  for (const StepSummary& step : summary.steps) steps.push_back(toJson(step, summary.tensorRanks));
  Json report = {{"bubble_ratio", summary.bubbleRatio},
                 {"topology_inferred", summary.topologyInferred},
                 {"ranks", ranks},
                 {"stages", stagesJson(timeline, threads)},
                 {"steps", steps}};
  addPhases(summary, report);
  if (!summary.deviceWork.empty()) {
    Json& work = report["device_work"] = Json::array();
    for (const StageDeviceWork& each : overSteps(summary.deviceWork)) work.push_back(toJson(each));
  }
  return report.dump(2) + "\n";
}

}  // namespace pipetrace
