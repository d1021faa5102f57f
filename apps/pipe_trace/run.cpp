#include "apps/pipe_trace/run.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "analysis/report/json_report.h"
#include "analysis/report/text_report.h"
#include "apps/pipe_trace/follow/follow.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "apps/pipe_trace/outputs/outputs.h"
#include "apps/pipe_trace/outputs/picture.h"
#include "apps/pipe_trace/outputs/write_profiles.h"
#include "apps/pipe_trace/paddle.h"
#include "ingest/load_run.h"

namespace pipetrace {

int writeAndReport(Run run, const PipeTraceOptions& options, const Diagnostics& diagnostics,
                   const SummaryText& report) {
  const BubbleChoice bubbles = bubblesFor(run, options.load);
  auto [timeline, summary] = std::move(run).ready(bubbles);
  const Selection& selection = options.load.selection;
  Picture picture;
  if (wantsPicture(options))
    picture = pictureOfSteps(timeline, summary, selection, themeOf(options.theme, options.isDark));
  timeline = selected(std::move(timeline), selection);
  summary = selected(std::move(summary), selection);
  OutputSet outputFiles;
  const WrittenProfiles written = writeProfiles(timeline, picture, options, outputFiles);

  const auto& outputs = options.outputs;
  const bool toStdout = std::find(outputs.begin(), outputs.end(), "-") != outputs.end();
  std::string results;
  if (options.json) {
    results = report(timeline, summary);
  } else if (!toStdout && !options.load.quiet) {
    results = report(timeline, summary) + (written.lines.empty() ? "" : "\n" + written.lines);
  }
  if (!results.empty()) outputFiles.add("-", results);
  outputFiles.commit();
  if (!options.load.quiet) {
    std::fputs(written.advice.c_str(), stderr);
    if (toStdout || options.json) std::fputs(written.lines.c_str(), stderr);
  }
  return exitCodeOf(options.load, diagnostics);
}

int runPipeTrace(const PipeTraceOptions& options) {
  if (!options.devices.empty()) return runPaddleConversion(options);
  if (options.follow) return runFollow(options);
  checkOutputs(options);
  Diagnostics diagnostics;
  std::vector<LoadedFile> files;
  Run run = loadAndReport(options.load, diagnostics, &files);
  checkOutputs(options.outputs, files);
  const int threads = options.load.reading.threads;
  return writeAndReport(std::move(run), options, diagnostics,
                        [&](const Timeline& timeline, const RunSummary& summary) {
                          return options.json ? jsonReport(timeline, summary, threads)
                                              : textReport(timeline, summary, threads);
                        });
}

}  // namespace pipetrace
