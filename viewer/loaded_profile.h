#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chart/chart_model.h"
#include "ingest/load_run.h"
#include "trace/diagnostic.h"

namespace pipetrace {

/// A run that is ready to be drawn. Immutable once made, so it may be handed from the loading
/// thread to the window's.
class LoadedProfile {
 public:
  LoadedProfile(std::string name, ReadyRun run, Diagnostics diagnostics);
  LoadedProfile(const LoadedProfile&) = delete;
  LoadedProfile& operator=(const LoadedProfile&) = delete;

  /// What it was read from, for titles.
  const std::string& name() const { return name_; }
  const Timeline& timeline() const { return run_.timeline; }
  const RunSummary& summary() const { return run_.summary; }
  const Diagnostics& diagnostics() const { return diagnostics_; }
  const ChartModel& model() const { return *model_; }

 private:
  std::string name_;
  ReadyRun run_;
  Diagnostics diagnostics_;
  std::unique_ptr<const ChartModel> model_;
};

/// Reads files or folders with loadRun(): logs as pipe-trace reads them; profiles keep the times
/// and the bubbles that they were written with. Throws Error as that does.
std::unique_ptr<const LoadedProfile> loadProfile(const std::vector<std::string>& inputs);

}  // namespace pipetrace
