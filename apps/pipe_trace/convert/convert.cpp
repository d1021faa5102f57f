#include "apps/pipe_trace/convert/convert.h"

#include <utility>
#include <vector>

#include "analysis/present/summary_report.h"
#include "apps/cli/command_app.h"
#include "apps/cli/command_line.h"
#include "apps/cli/program.h"
#include "apps/pipe_trace/convert/follow.h"
#include "apps/pipe_trace/convert/options.h"
#include "apps/pipe_trace/convert/paddle.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "ingest/output_files.h"

namespace pipetrace {

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
