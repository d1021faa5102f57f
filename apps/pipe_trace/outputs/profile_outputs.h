#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/run/doubts.h"
#include "analysis/run/run.h"
#include "apps/cli/profile_format.h"
#include "apps/pipe_trace/inputs/load_run_options.h"
#include "apps/pipe_trace/outputs/picture.h"
#include "chart/colors/theme.h"
#include "trace/diagnostic.h"
#include "trace/files/output_set.h"
#include "trace/timeline.h"

namespace pipetrace {

/// From here on a JSON file is worth a word: Perfetto's UI stops near 2 GB.
inline constexpr std::int64_t kLargeJson = 1'000'000'000;

/// The advice on a Chrome JSON file of that size, with a newline; empty for one below `limit`.
std::string adviceOnSize(const std::string& path, std::int64_t bytes, std::int64_t limit);

class CommandApp;

/// The profiles and pictures of a run that are wanted: -o and what goes with it.
struct ProfileOutputs {
  std::vector<std::string> names;
  std::string pipelineLogger;  ///< the folder for files of PipelineLogger; empty: none
  std::string format;  ///< of outputs whose name has no ending; empty: Chrome JSON for "-" only
  bool json = false;   ///< the text on standard output is JSON; no output may go there then
  bool flows = true;
  ThemeName theme = ThemeName::kPaper;  ///< of pictures
  bool isDark = false;                  ///< the dark form of the theme
  bool csvSafe = false;                 ///< no cell of a CSV file is a formula
  bool absoluteTime = false;  ///< profiles count from the epoch, not from their first event
  std::int64_t largeJson = kLargeJson;  ///< bytes from which a JSON output gets advice
};

/// Declares -o and what the profiles of -o are like, with --bubbles of `load`. All must outlive
/// `app`.
void addProfileOutputs(CommandApp& app, ProfileOutputs& outputs, LoadRunOptions& load);

/// The format that an output's name ends in, else that of --format; Chrome JSON for standard
/// output. Throws Error when neither says it.
ProfileFormat formatOf(const std::string& output, const ProfileOutputs& outputs);

/// Whether an output is a picture.
bool wantsPicture(const ProfileOutputs& outputs);

/// Throws Error for outputs that make no sense: a name without a format, standard output for two
/// results, and as checkOutputFiles() does.
void checkOutputs(const ProfileOutputs& outputs, const LoadRunOptions& load);

/// Text to print about the outputs.
struct WrittenProfiles {
  std::string lines;   ///< one for each
  std::string advice;  ///< on those that are very large
};

/// Writes the outputs into `files`, which the caller commits, with a progress bar. `picture` is for
/// the outputs that are pictures, and may be empty if there are none.
WrittenProfiles writeProfiles(const Timeline& timeline, const Picture& picture,
                              const ProfileOutputs& outputs, const LoadRunOptions& load,
                              OutputSet& files);

/// Whether a text about the run goes to standard output.
bool printsSummary(const ProfileOutputs& outputs, const LoadRunOptions& load);

/// Makes the text to print about the selected part of a run: JSON under ProfileOutputs::json.
using SummaryText = std::function<std::string(const Timeline&, const RunSummary&,
                                              const std::vector<Doubt>& doubts)>;

/// Writes the outputs of a loaded run (all or none), and prints `report` and a line for each.
/// Returns the exit code. Where doubts make figures meaningless and `force` is not set, they stand
/// in place of `report`: as an Error where there is no output.
int writeAndReport(Run run, const ProfileOutputs& outputs, const LoadRunOptions& load,
                   const Diagnostics& diagnostics, const SummaryText& report, bool force = true);

}  // namespace pipetrace
