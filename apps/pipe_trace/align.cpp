#include "apps/pipe_trace/align.h"

#include <vector>

#include "analysis/present/alignment_report.h"
#include "apps/cli/command_app.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "apps/pipe_trace/outputs/profile_outputs.h"
#include "ingest/output_files.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

struct AlignOptions {
  LoadRunOptions load;
  ProfileOutputs profiles;
};

void addAlignOptions(CommandApp& app, AlignOptions& options) {
  app.description(
      "Puts the times of several hosts into rank 0's clock, prints what each clock was off by and\n"
      "how many messages were received before they were sent, and writes the profiles of -o.");
  app.describeEnd(exitCodesOfReading(), {"pipe-trace align logs -o profile.json",
                                         "pipe-trace align logs --align causal --json"});
  addLoadRunOptions(app, options.load);
  addProfileOutputs(app, options.profiles, options.load);
  app.add_flag("--json", options.profiles.json, "Print the clocks as JSON");
}

}  // namespace

void describeAlign(CommandApp& app) {
  static AlignOptions options;
  addAlignOptions(app, options);
}

int alignCommand(int argc, char** argv, const TraceReaders& readers) {
  AlignOptions options;
  CommandApp app("pipe-trace align");
  addAlignOptions(app, options);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;

  const bool choosesPart = !options.load.selection.isAll();
  if (choosesPart && options.profiles.names.empty()) {
    throw Error(
        "--steps, --ranks and --skip choose what the profiles of -o hold; clocks are those "
        "of all ranks and steps");
  }
  checkOutputs(options.profiles, options.load);
  Diagnostics diagnostics;
  std::vector<LoadedFile> files;
  Alignment alignment;
  Run run = loadAndReport(options.load, readers, diagnostics, &files, &alignment);
  checkOutputs(options.profiles.names, files);
  return writeAndReport(std::move(run), options.profiles, options.load, diagnostics,
                        [&](const Timeline&, const RunSummary&, const std::vector<Doubt>&) {
                          return options.profiles.json ? alignmentJson(alignment)
                                                       : alignmentText(alignment);
                        });
}

}  // namespace pipetrace
