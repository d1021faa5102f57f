#include "apps/pipe_trace_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "analysis/report/json_report.h"
#include "analysis/report/text_report.h"
#include "analysis/run_summary.h"
#include "apps/pipe_trace_outputs.h"
#include "parser/chrome_writer.h"
#include "parser/load_timeline.h"
#include "trace/output_file.h"

namespace pipetrace {
namespace {

/// Under --quiet only errors, and what makes --strict exit with 1.
void printDiagnostics(const Diagnostics& diagnostics, const PipeTraceOptions& options) {
  Severity lowest = Severity::kNote;
  if (options.quiet) lowest = options.strict ? Severity::kWarning : Severity::kError;
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    if (diagnostic.severity < lowest) continue;
    std::fputs((toText(diagnostic) + "\n").c_str(), stderr);
  }
}

void checkForJobs(const Timeline& timeline, Diagnostics& diagnostics) {
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (isCompute(event.kind)) return;
    }
  }
  diagnostics.add({.message = "no compute job (forward, backward, ...) in the input, so there are "
                              "no steps and no bubbles",
                   .advice = "jobs are known by the types that docs/log-format.md lists; events of "
                             "other names are kept as transfers and the like"});
}

/// Loads and completes; what was found on the way is printed even when loading fails.
Timeline load(const PipeTraceOptions& options, Diagnostics& diagnostics) {
  try {
    Timeline timeline = loadTimeline(options.inputs, {.run = options.run}, diagnostics);
    completeTimeline(timeline, diagnostics);
    checkForJobs(timeline, diagnostics);
    printDiagnostics(diagnostics, options);
    return timeline;
  } catch (...) {
    printDiagnostics(diagnostics, options);
    throw;
  }
}

/// Returns a line for each file. None is committed before all are written.
std::string writeProfiles(const Timeline& timeline, const PipeTraceOptions& options) {
  std::string lines;
  std::vector<std::unique_ptr<OutputFile>> files;
  for (const std::string& output : options.outputs) {
    files.push_back(std::make_unique<OutputFile>(output));
    const ChromeSummary written =
        writeChromeJson(timeline, {.flows = !options.noFlows}, *files.back());
    lines += fmt::format(
        "wrote {}: {} jobs, {} transfers, {} bubbles, {} arrows, {} counter samples\n", output,
        written.jobs, written.transfers, written.bubbles, written.arrows, written.counters);
  }
  for (const auto& file : files) file->commit();
  return lines;
}

}  // namespace

int runPipeTrace(const PipeTraceOptions& options) {
  checkOutputs(options);
  Diagnostics diagnostics;
  Timeline timeline = load(options, diagnostics);
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
