#pragma once

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/present/run_report.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/faulty_run.h"

namespace pipetrace::test {

/// A report on a run whose times are known by hand: 1F1B on 2 ranks with 3 micro-batches in 3 steps
/// of 120 ms; F 10 ms, B 20 ms. In each step rank 0 is idle from 20 to 40 and from 90 to 100 ms,
/// rank 1 to 10 ms and from 100 ms. Steps 1 and 2 were chosen.
class ReportByHand : public ::testing::Test {
 protected:
  static constexpr Nanoseconds kMs = kNsPerMs;

  ReportByHand() { run_.findings.clear(); }

  /// The parts of a run that tests say otherwise.
  RunSummary& summary() { return const_cast<RunSummary&>(run_.summary); }
  Bubbles& bubbles() { return const_cast<Bubbles&>(run_.bubbles); }
  Topology& topology() { return const_cast<Topology&>(run_.topology); }
  RunReport report() const { return {run_, diagnostics_}; }
  std::string text() const { return runReportText(report()); }
  nlohmann::json toJson() const { return nlohmann::json::parse(runReportJson(report())); }

  /// The id of a job in step 1.
  JobGraph::Id job(int rank, JobKind kind, std::int32_t microBatch) const {
    for (JobGraph::Id id = 0; id < run_.graph->jobCount(); ++id) {
      const JobGraph::Node& node = run_.graph->node(id);
      const int number = run_.graph->ranks()[node.rank].number;
      if (number == rank && node.kind == kind && node.microBatch == microBatch && node.step == 1) {
        return id;
      }
    }
    return JobGraph::kNone;
  }

  Timeline timeline_ =
      completedRun(buildSchedule("1F1B", 2, 3), Costs::equal(2, {10 * kMs, 20 * kMs}));
  Diagnostics diagnostics_;
  ExplainedRun run_ = explainRun(timeline_, {.steps = {{1}}});
};

}  // namespace pipetrace::test
