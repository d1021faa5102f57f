#include "apps/pipe_trace/convert/convert.h"

#include <fmt/format.h>
#include <utility>
#include <vector>

#include "analysis/present/summary_report.h"
#include "apps/cli/command_app.h"
#include "apps/cli/command_line.h"
#include "apps/cli/print.h"
#include "apps/cli/program.h"
#include "apps/pipe_trace/convert/follow.h"
#include "apps/pipe_trace/convert/options.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "ingest/output_files.h"
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

/// Writes PaddlePaddle's two files of the logs in --log_dir. Prints the findings to standard error
/// and the files' names to standard output. Returns the exit code, 0 or 1; throws Error for 2.
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

}  // namespace

void describeConvert(CommandApp& app, const Program& program) {
  static ConvertOptions options;
  addConvertOptions(app, options, program);
}

int convertCommand(int argc, char** argv, const Program& program, const TraceReaders& readers) {
  ConvertOptions options;
  CommandApp app(program.name);
  addConvertOptions(app, options, program);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;

  if (!options.devices.empty()) return runPaddleConversion(options);
  if (options.follow) return runFollow(options, readers);
  checkOutputs(options.profiles, options.load);
  options.load.beginsWithDoubts = printsSummary(options.profiles, options.load);
  Diagnostics diagnostics;
  std::vector<LoadedFile> files;
  Run run = loadAndReport(options.load, readers, diagnostics, &files);
  checkOutputs(options.profiles.names, files);
  const int threads = options.load.reading.threads;
  return writeAndReport(
      std::move(run), options.profiles, options.load, diagnostics,
      [&](const Timeline& timeline, const RunSummary& summary, const std::vector<Doubt>& doubts) {
        return options.profiles.json ? jsonReport(timeline, summary, threads, doubts)
                                     : textReport(timeline, summary, threads, doubts);
      },
      options.force);
}

}  // namespace pipetrace
