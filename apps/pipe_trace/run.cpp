#include "apps/pipe_trace/run.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "analysis/present/summary_report.h"
#include "apps/pipe_trace/follow/follow.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "apps/pipe_trace/outputs/outputs.h"
#include "apps/pipe_trace/outputs/picture.h"
#include "apps/pipe_trace/outputs/write_profiles.h"
#include "apps/pipe_trace/paddle.h"
#include "ingest/load_run.h"

namespace pipetrace {

int writeAndReport(Timeline whole, const PipeTraceOptions& options, const Diagnostics& diagnostics,
                   const SummaryText& report) {
  auto [timeline, summary] = withBubbles(std::move(whole), options.load);
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
  Timeline whole = loadAndReport(options.load, diagnostics, &files);
  checkOutputs(options.outputs, files);
  const int threads = options.load.reading.threads;
  return writeAndReport(std::move(whole), options, diagnostics,
                        [&](const Timeline& timeline, const RunSummary& summary) {
                          return options.json ? jsonReport(timeline, summary, threads)
                                              : textReport(timeline, summary, threads);
                        });
}

}  // namespace pipetrace
