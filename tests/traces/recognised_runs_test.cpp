// The schedules of real runs, and of traces of torch's schedules.
#include <gmock/gmock.h>

#include <filesystem>

#include "analysis/plans/measured_plan.h"
#include "analysis/plans/plan_deviations.h"
#include "analysis/plans/recognise_schedule.h"
#include "analysis/run_summary.h"
#include "parser/load_timeline.h"

namespace pipetrace {
namespace {

const std::string kFolder = PIPETRACE_SOURCE_DIR "/../shared/data/";

Timeline completed(const std::vector<std::string>& names) {
  std::vector<std::string> inputs;
  for (const std::string& name : names) inputs.push_back(kFolder + name);
  Diagnostics diagnostics;
  Timeline timeline = loadTimeline(inputs, {.threads = 1}, diagnostics);
  completeTimeline(timeline, diagnostics);
  return timeline;
}

TEST(RecognisedRuns, Probe) {
  for (const auto& names : {std::vector<std::string>{"megatronapp/app_aggregated.json"}, {"straggler_study/timeline-ST.json.gz"}}) {
    const Timeline timeline = completed(names);
    const Topology topology = topologyOf(timeline);
    for (const StepWindow& w : stepWindows(timeline)) {
      const MeasuredPlan m = measuredPlan(timeline, topology, w.replica, w.step);
      const RecognisedSchedule r = recogniseSchedule(m.plan);
      std::cout << names[0] << " replica " << w.replica << " step " << w.step << " '" << m.problem << "' " << m.countsMicroBatches << " " << toText(r) << " " << r.distance << " names " << r.names.size() << " S" << m.plan.numStages << " M" << m.plan.numMicroBatches << " dev " << findDeviations(m.plan, r.plan).moved.size() << "\n";
    }
  }
}

}  // namespace
}  // namespace pipetrace
