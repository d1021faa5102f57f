#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run/doubts.h"
#include "analysis/run/run.h"
#include "chart/chart_model.h"
#include "ingest/load_run.h"
#include "parser/load_timeline.h"
#include "trace/diagnostic.h"

namespace pipetrace {

/// The idle time of a run, ready to be added to its profile.
struct FoundBubbles {
  BubbleLanes lanes;  ///< empty if the run came with bubbles
  ChartModel::IndexedBubbles indexed;
  std::vector<Doubt> doubts;  ///< about the run
};

/// A run that is ready to be drawn. The picture comes first, its bubbles later: it stays as it is
/// apart from add(). One thread may make it and hand it to the GUI thread.
class LoadedProfile {
 public:
  /// `isClassified`: the run has its bubbles already.
  LoadedProfile(std::string name, Run run, Diagnostics diagnostics, bool isClassified = false);
  LoadedProfile(const LoadedProfile&) = delete;
  LoadedProfile& operator=(const LoadedProfile&) = delete;

  /// Says what it was read from: the inputs and, where they are known, the files in them.
  void cameFrom(std::vector<std::string> inputs, std::vector<LoadedFile> files = {});
  /// Throws Error for an output that would replace some of it.
  void checkOutput(const std::string& path) const;

  /// The name of its input, for titles.
  const std::string& name() const { return name_; }
  const Run& run() const { return run_; }
  const Timeline& timeline() const { return run_.timeline(); }
  /// Empty before isClassified().
  const RunSummary& summary() const;
  const Diagnostics& diagnostics() const { return diagnostics_; }
  /// Empty before isClassified().
  const std::vector<Doubt>& doubts() const { return doubts_; }
  const ChartModel& model() const { return *model_; }
  /// Draws the run in other colours, which are no part of it. On the thread that draws it, while no
  /// other thread asks the model for loads.
  void setTheme(const Theme& theme) const { model_->setTheme(theme); }
  /// Whether its idle time has been added.
  bool isClassified() const { return isClassified_; }

  /// Adds the idle time that findBubbles() found in it. On the thread that uses the profile, while
  /// no other one reads it. Pointers to events, and references to rows, stay valid.
  void add(FoundBubbles found);

  /// Gives up what nobody needs of the run (Run::endWhen(), Run::freeTables()).
  void endWhen(std::stop_token stop) { run_.endWhen(std::move(stop)); }
  void freeTables() { run_.freeTables(); }

 private:
  std::string name_;
  std::vector<std::string> inputs_;
  std::vector<LoadedFile> files_;
  Run run_;
  Diagnostics diagnostics_;
  std::vector<Doubt> doubts_;
  std::unique_ptr<ChartModel> model_;
  bool isClassified_ = false;
};

/// The name of a profile of these inputs: "logs", "logs and 2 more".
std::string profileName(const std::vector<std::string>& inputs);

/// Reads files or folders with loadRun(), and throws the same Errors. Logs are read as pipe-trace
/// reads them, with `align` as its --align. Profiles keep the times and the bubbles that they were
/// written with. The result is not classified. `progress`, if given, must outlive the call.
std::unique_ptr<LoadedProfile> readProfile(const std::vector<std::string>& inputs, AlignBy align,
                                           LoadProgress* progress = nullptr);

/// Finds the idle time of a profile, on all cores; others may read the profile meanwhile. All parts
/// of its run are there afterwards, but for the schedule.
FoundBubbles findBubbles(const LoadedProfile& profile);

/// A profile with all its bubbles: readProfile(), findBubbles() and LoadedProfile::add().
std::unique_ptr<const LoadedProfile> loadProfile(const std::vector<std::string>& inputs,
                                                 AlignBy align = AlignBy::kBest);

}  // namespace pipetrace
