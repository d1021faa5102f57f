#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analysis/run_summary.h"
#include "chart/chart_model.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// A timeline, read, completed and ready to be drawn. Immutable once made, so it may be handed from
/// the loading thread to the window's.
class LoadedProfile {
 public:
  /// Sums `timeline` up and, where it has no lane of bubbles, adds them.
  LoadedProfile(std::string name, Timeline timeline, Diagnostics diagnostics);
  LoadedProfile(const LoadedProfile&) = delete;
  LoadedProfile& operator=(const LoadedProfile&) = delete;

  /// What it was read from, for titles.
  const std::string& name() const { return name_; }
  const Timeline& timeline() const { return timeline_; }
  const RunSummary& summary() const { return summary_; }
  const Diagnostics& diagnostics() const { return diagnostics_; }
  const ChartModel& model() const { return *model_; }

 private:
  std::string name_;
  Timeline timeline_;
  Diagnostics diagnostics_;
  RunSummary summary_;
  std::unique_ptr<const ChartModel> model_;
};

/// Reads files or folders with loadTimeline(). Throws Error as that does.
std::unique_ptr<const LoadedProfile> loadProfile(const std::vector<std::string>& inputs);

}  // namespace pipetrace
