#include "apps/pipe_trace/convert/paddle.h"

#include <fmt/format.h>

#include "apps/cli/print.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "parser/paddle/paddle_profile.h"
#include "trace/files/output_set.h"
#include "trace/text/fit_to_print.h"

namespace pipetrace {
namespace {

PaddleSummary convert(const PaddleRequest& request, Severity lowest, OutputSet& files,
                      Diagnostics& diagnostics) {
  try {
    const PaddleSummary summary = writePaddleProfiles(request, files, diagnostics);
    printDiagnostics(diagnostics, lowest);
    return summary;
  } catch (...) {
    printDiagnostics(diagnostics, lowest);
    throw;
  }
}

}  // namespace

int runPaddleConversion(const ConvertOptions& options) {
  Diagnostics diagnostics;
  OutputSet files;
  const PaddleSummary written =
      convert({.logFolder = options.logFolder,
               .devices = options.devices,
               .multiMachine = options.multiMachine,
               .style = options.paddleStyle.empty() ? PaddleStyle::kCurrent : PaddleStyle::k2023,
               .skippedTypes = options.load.selection.skippedTypes},
              lowestSeverity(options.load), files, diagnostics);
  if (!options.load.quiet) {
    std::string what = fmt::format("{} jobs, {} steps", written.jobs, written.steps);
    if (options.multiMachine) what += fmt::format(", {} machines", written.machines);
    files.add("-", fitToPrint(fmt::format("wrote {}: {}\nwrote {}: {}\n", written.profile, what,
                                          written.perfettoProfile, what)));
  }
  files.commit();
  return exitCodeOf(options.load, diagnostics);
}

}  // namespace pipetrace
