#include "apps/pipe_trace/what_if/what_if.h"

#include <algorithm>
#include <string>
#include <utility>

#include "analysis/present/what_if_report.h"
#include "analysis/run_summary.h"
#include "apps/cli/command_app.h"
#include "apps/cli/command_line.h"
#include "apps/cli/print.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "apps/pipe_trace/what_if/options.h"
#include "ingest/output_files.h"
#include "schedule/file/schedule_writer.h"
#include "trace/files/output_set.h"
#include "trace/text/fit_to_print.h"

namespace pipetrace {
namespace {

constexpr int kExitNoAnswer = 2;

/// Writes the changed run with its bubbles.
WrittenProfiles writeRun(Run run, const WhatIfOptions& options, OutputSet& files) {
  const ProfileOutputs& profiles = options.profiles;
  const ReadyRun ready = std::move(run).ready(BubbleChoice::kFound);
  Picture picture;
  if (wantsPicture(profiles)) {
    picture =
        pictureOfSteps(ready.timeline, ready.summary, {}, themeOf(profiles.theme, profiles.isDark));
  }
  return writeProfiles(ready.timeline, picture, profiles, options.load, files);
}

}  // namespace

void describeWhatIf(CommandApp& app) {
  static WhatIfOptions options;
  addWhatIfOptions(app, options);
}

int whatIfCommand(int argc, char** argv, const TraceReaders& readers) {
  WhatIfOptions options;
  CommandApp app("pipe-trace what-if");
  addWhatIfOptions(app, options);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;
  const LoadRunOptions& load = options.load;
  const WhatIfQuestion question = options.question();
  checkOutputs(options.profiles, load);
  Diagnostics diagnostics;
  std::vector<LoadedFile> loaded;
  Run run = loadAndReport(load, readers, diagnostics, &loaded);
  const std::vector<Doubt> doubts = doubtAndReport(load, run, diagnostics);
  std::vector<std::string> toWrite = options.profiles.names;
  if (!options.csv.empty()) toWrite.push_back(options.csv);
  checkOutputs(toWrite, loaded);
  WhatIfAnswer answer = whatIf(run, question);
  run.letGo();
  const bool isAnswered = answer.refusal.empty();
  const WhatIfReport report{answer, options.asked()};
  std::string text = options.json ? whatIfJson(report) : whatIfText(report);
  OutputSet files;
  WrittenProfiles written;
  if (isAnswered && !options.profiles.names.empty()) {
    written = writeRun(std::move(answer.run), options, files);
  }
  const std::vector<std::string>& outputs = options.profiles.names;
  if (isAnswered && !options.csv.empty()) {
    files.add(options.csv, toCsv(answer.order));
    written.lines += "wrote the plan to " + options.csv + "\n";
  }
  const bool toStdout = std::find(outputs.begin(), outputs.end(), "-") != outputs.end();
  if (!options.json && !written.lines.empty()) text += "\n" + written.lines;
  const bool isPrinted = options.json || !load.quiet || (outputs.empty() && options.csv.empty());
  if (!(toStdout && isAnswered) && isPrinted)
    files.add("-", options.json ? text : fitToPrint(text));
  files.commit();
  if (!load.quiet) {
    printError(written.advice);
    if (toStdout || options.json) printError(written.lines);
  }
  if (isAnswered) return exitCodeOf(load, diagnostics, doubts);
  if (!isPrinted) printError("pipe-trace what-if: " + answer.refusal);
  return kExitNoAnswer;
}

}  // namespace pipetrace
