#include "apps/pipe_trace_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "analysis/report/json_report.h"
#include "analysis/report/text_report.h"
#include "analysis/run_summary.h"
#include "apps/load_run.h"
#include "apps/pipe_trace_outputs.h"
#include "apps/pipe_trace_paddle.h"
#include "apps/profile_format.h"
#include "trace/output_file.h"

namespace pipetrace {
namespace {

/// Returns a line for each file. None is committed before all are written.
std::string writeProfiles(const Timeline& timeline, const PipeTraceOptions& options) {
  std::string lines;
  std::vector<std::unique_ptr<OutputFile>> files;
  for (const std::string& output : options.outputs) {
    files.push_back(std::make_unique<OutputFile>(output));
    const ProfileSummary written =
        writeProfile(timeline, formatOf(output, options),
                     {.flows = !options.noFlows, .threads = options.threads}, *files.back());
    lines += fmt::format(
        "wrote {}: {} jobs, {} transfers, {} bubbles, {} arrows, {} counter samples\n", output,
        written.jobs, written.transfers, written.bubbles, written.arrows, written.counters);
  }
  for (const auto& file : files) file->commit();
  return lines;
}

}  // namespace

int runPipeTrace(const PipeTraceOptions& options) {
  if (!options.devices.empty()) return runPaddleConversion(options);
  checkOutputs(options);
  Diagnostics diagnostics;
  Timeline timeline = loadRun({.inputs = options.inputs,
                               .run = options.run,
                               .threads = options.threads,
                               .lowest = lowestToTell(options)},
                              diagnostics);
  const RunSummary summary = summarize(timeline);
  appendBubbles(timeline, options.noBubbles ? RunSummary{} : summary);
  const std::string lines = writeProfiles(timeline, options);

  const auto& outputs = options.outputs;
  const bool toStdout = std::find(outputs.begin(), outputs.end(), "-") != outputs.end();
  std::string results;
  if (options.json) {
    results = jsonReport(summary);
  } else if (!toStdout && !options.quiet) {
    results = textReport(timeline, summary) + (lines.empty() ? "" : "\n" + lines);
  }
  if (!results.empty()) writeWholeFile("-", results);
  if ((toStdout || options.json) && !options.quiet) std::fputs(lines.c_str(), stderr);
  return options.strict && diagnostics.hasFindings() ? 1 : 0;
}

}  // namespace pipetrace
