#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "analysis/run/run.h"
#include "chart/chart_model.h"

namespace pipetrace {

/// A compute job of a prediction, and by how much later after its step's begin it starts than the
/// measured one. Below 0: sooner.
struct MovedJob {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  Nanoseconds later = 0;
};

/// A predicted run that is ready to be drawn, and what moved in it. Stays as it is, but for the
/// colours of its model.
class PredictedRun {
 public:
  /// `run` is the changed one. Its bubbles are found, unless it goes without.
  explicit PredictedRun(Run run, bool withBubbles = true);
  PredictedRun(const PredictedRun&) = delete;
  PredictedRun& operator=(const PredictedRun&) = delete;

  const Run& run() const { return run_; }
  const ChartModel& model() const { return *model_; }
  void setTheme(const Theme& theme) const { model_->setTheme(theme); }

  /// Finds what moved. `isOfPlan`: each step has the jobs of another plan, and is compared with the
  /// step `step` of `measured`. Else the jobs are those of `measured`, step by step.
  void compareWith(const Timeline& measured, const std::vector<StepSpan>& measuredSteps,
                   bool isOfPlan, std::int32_t step);

  /// The jobs of a rank that moved by more than kLeastMove of the step, by their begins. Empty:
  /// none did.
  const std::vector<MovedJob>& movedOf(int rank) const;
  std::size_t movedCount() const;
  /// The most by which a job moved.
  Nanoseconds mostMoved() const { return mostMoved_; }
  static constexpr double kLeastMove = 1e-4;

  /// When the step begins that stands beside the measured step of that number: the same one, of
  /// another plan a usual one, else the first.
  Nanoseconds beginBeside(std::int32_t measuredStep) const;

 private:
  void keepMoved(int rank, std::vector<MovedJob> moved, Nanoseconds step);

  Run run_;
  std::unique_ptr<ChartModel> model_;
  std::map<int, std::vector<MovedJob>> moved_;
  Nanoseconds mostMoved_ = 0;
  bool isOfPlan_ = false;
};

}  // namespace pipetrace
