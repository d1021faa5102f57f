#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chart/chart_model.h"
#include "ingest/load_run.h"
#include "trace/diagnostic.h"

namespace pipetrace {

/// A run that is ready to be drawn. Immutable but for its colours, so the loading thread may hand
/// it to the GUI thread.
class LoadedProfile {
 public:
  LoadedProfile(std::string name, ReadyRun run, Diagnostics diagnostics);
  LoadedProfile(const LoadedProfile&) = delete;
  LoadedProfile& operator=(const LoadedProfile&) = delete;

  /// The name of its input, for titles.
  const std::string& name() const { return name_; }
  const Timeline& timeline() const { return run_.timeline; }
  const RunSummary& summary() const { return run_.summary; }
  const Diagnostics& diagnostics() const { return diagnostics_; }
  const ChartModel& model() const { return *model_; }
  /// Draws the run in other colours, which are no part of it. On the thread that draws it, while no
  /// other thread asks the model for loads.
  void setTheme(const Theme& theme) const { model_->setTheme(theme); }

 private:
  std::string name_;
  ReadyRun run_;
  Diagnostics diagnostics_;
  std::unique_ptr<ChartModel> model_;
};

/// The name of a profile of these inputs: "logs", "logs and 2 more".
std::string profileName(const std::vector<std::string>& inputs);

/// Reads files or folders with loadRun(), and throws the same Errors. Logs are read as pipe-trace
/// reads them, with `align` as its --align. Profiles keep the times and the bubbles that they were
/// written with.
std::unique_ptr<const LoadedProfile> loadProfile(const std::vector<std::string>& inputs,
                                                 AlignBy align = AlignBy::kBest);

}  // namespace pipetrace
