#include "apps/pipe_trace/align.h"

#include <vector>

#include "analysis/clocks/alignment_report.h"
#include "apps/cli/command_app.h"
#include "apps/cli/command_line.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "apps/pipe_trace/outputs/outputs.h"
#include "apps/pipe_trace/run.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

void addAlignOptions(CommandApp& app, PipeTraceOptions& options) {
  app.description(
      "Puts the times of several hosts into rank 0's clock, prints what each clock was off by and\n"
      "how many messages were received before they were sent, and writes the profiles of -o.");
  app.describeEnd(exitCodesOfReading(), {"pipe-trace align logs -o profile.json",
                                         "pipe-trace align logs --align causal --json"});
  addLoadRunOptions(app, options.load);
  addProfileOptions(app, options);
  app.add_flag("--json", options.json, "Print the clocks as JSON");
}

}  // namespace

void describeAlign(CommandApp& app) {
  static PipeTraceOptions options;
  addAlignOptions(app, options);
}

int alignCommand(int argc, char** argv) {
  PipeTraceOptions options;
  CommandApp app("pipe-trace align");
  addAlignOptions(app, options);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;

  const bool choosesPart = !options.load.selection.isAll();
  if (choosesPart && options.outputs.empty()) {
    throw Error(
        "--steps, --ranks and --skip choose what the profiles of -o hold; clocks are those "
        "of all ranks and steps");
  }
  checkOutputs(options);
  Diagnostics diagnostics;
  std::vector<LoadedFile> files;
  Alignment alignment;
  Run run = loadAndReport(options.load, diagnostics, &files, &alignment);
  checkOutputs(options.outputs, files);
  return writeAndReport(std::move(run), options, diagnostics,
                        [&](const Timeline&, const RunSummary&) {
                          return options.json ? alignmentJson(alignment) : alignmentText(alignment);
                        });
}

}  // namespace pipetrace
