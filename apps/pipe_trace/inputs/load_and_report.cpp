#include "apps/pipe_trace/inputs/load_and_report.h"

#include <utility>

#include "analysis/present/doubt_sentences.h"
#include "apps/cli/command_app.h"
#include "apps/cli/print.h"
#include "apps/cli/program.h"
#include "apps/cli/progress_bar.h"
#include "ingest/load_run.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// The bar is gone when it returns, or throws.
Run loadWithBar(const LoadRunOptions& options, const TraceReaders& readers,
                Diagnostics& diagnostics, std::vector<LoadedFile>* files, Alignment* alignment) {
  LoadProgress progress;
  RunRequest request = options;
  request.reading.progress = &progress;
  const ProgressBar bar("reading", progress.bytesRead, progress.bytesInAll,
                        {.begin = options.begin, .quiet = options.quiet});
  return loadRun(request, readers, diagnostics, files, alignment);
}

/// Those that are printed. Findings about all inputs say which run they are about.
Diagnostics printed(const Diagnostics& diagnostics, const LoadRunOptions& options) {
  const std::string& run = options.name;
  if (run.empty() && !options.beginsWithDoubts) return diagnostics;
  Diagnostics result;
  for (Diagnostic each : diagnostics.list()) {
    if (options.beginsWithDoubts && each.doubt != DoubtKind::kNone) continue;
    if (each.file.empty() && !run.empty()) each.message = run + ": " + each.message;
    result.add(std::move(each));
  }
  return result;
}

}  // namespace

Severity lowestSeverity(const LoadRunOptions& options) {
  return options.quiet ? Severity::kWarning : Severity::kNote;
}

int exitCodeOf(const LoadRunOptions& options, const Diagnostics& diagnostics,
               const std::vector<Doubt>& doubts) {
  const bool areFindings = diagnostics.hasFindings() || !doubts.empty();
  return options.strict && areFindings ? kExitFindings : 0;
}

std::vector<Doubt> doubtAndReport(const LoadRunOptions& options, const Run& run,
                                  const Diagnostics& diagnostics) {
  std::vector<Doubt> doubts = doubtsOf(run, diagnostics);
  Diagnostics late;
  for (const Doubt& doubt : doubts) {
    if (doubt.said.empty()) late.add({.message = doubtText(doubt), .advice = doubtAdvice(doubt)});
  }
  printDiagnostics(printed(late, options), lowestSeverity(options));
  return doubts;
}

void addForce(CommandApp& app, bool& force) {
  app.add_flag("--force", force, "Print figures also where they mean nothing, with the doubts");
}

void requireMeaning(const std::vector<Doubt>& doubts, bool force) {
  if (!force && areMeaningless(doubts)) throw Error(noFiguresText(doubts));
}

Run loadAndReport(const LoadRunOptions& options, const TraceReaders& readers,
                  Diagnostics& diagnostics, std::vector<LoadedFile>* files, Alignment* alignment) {
  const Severity lowest = lowestSeverity(options);
  nowDoing("reading the inputs");
  try {
    Run run = loadWithBar(options, readers, diagnostics, files, alignment);
    printDiagnostics(printed(diagnostics, options), lowest);
    nowDoing("explaining the run");
    return run;
  } catch (...) {
    LoadRunOptions all = options;
    all.beginsWithDoubts = false;
    printDiagnostics(printed(diagnostics, all), lowest);
    throw;
  }
}

}  // namespace pipetrace
