#include "apps/pipe_trace/diff.h"

#include <cmath>
#include <string>
#include <utility>

#include "analysis/diff/diff_report.h"
#include "apps/cli/command_app.h"
#include "apps/cli/command_line.h"
#include "apps/cli/selection_options.h"
#include "apps/pipe_trace/inputs/glob_inputs.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "trace/error.h"
#include "trace/files/output_file.h"

namespace pipetrace {
namespace {

struct DiffCommandOptions {
  std::string a;
  std::string b;
  LoadRunOptions load;  ///< of both
  double tolerance = 0.02;
  bool json = false;
  bool strict = false;
};

/// The share that "2%" or "0.02" says. Throws Error for anything else.
double shareIn(const std::string& text) {
  std::string number = text;
  const bool isPercent = number.ends_with('%');
  if (isPercent) number.pop_back();
  while (number.ends_with(' ')) number.pop_back();
  double share = 0;
  const bool isNumber = CLI::detail::lexical_cast(number, share) && std::isfinite(share);
  if (isPercent) share /= 100;
  if (!isNumber || share < 0 || share >= 1) {
    throw Error("--tolerance: " + text + " is no share from 0 to 100 %; write 2% or 0.02");
  }
  return share;
}

void addDiffOptions(CommandApp& app, DiffCommandOptions& options) {
  app.description(
      "Says how much longer a step of run B takes than one of run A, how sure that is, and why:\n"
      "which jobs and messages take longer, and whose idle time grew. docs/diff.md explains it.");
  app.describeEnd({{"0", "done"},
                   {"1", "done, with --strict and B slower"},
                   {"2", "could not, or with --strict could not judge"}},
                  {"pipe-trace diff before after", "pipe-trace diff before after --strict",
                   "pipe-trace diff 'runs/*.a.json' 'runs/*.b.json' --json"});
  app.add_option("A", options.a,
                 "The run to compare with: a folder, a file, or a quoted pattern "
                 "such as 'logs/*.json'; - is standard input")
      ->type_name("")
      ->required();
  app.add_option("B", options.b, "The other run, likewise")->type_name("")->required();
  app.add_flag("--json", options.json, "Print it as JSON (docs/diff.schema.json)");
  app.add_option_function<std::string>(
         "--tolerance", [&options](const std::string& text) { options.tolerance = shareIn(text); },
         "The share of A's step by which B may be slower, as 2% or 0.02 (default: 2%)")
      ->type_name("SHARE");
  app.add_flag("--strict", options.strict,
               "Exit with 1 if B is slower by more than the tolerance, beyond noise");
  addStepsOption(app, [&](const NumberRange& steps) { options.load.selection.steps = {steps}; });
  addReadingOptions(app, options.load);
  app.add_flag("-q,--quiet", options.load.quiet, "Print errors only");
}

Timeline loadOne(const DiffCommandOptions& options, const std::string& input, const char* name) {
  LoadRunOptions load = options.load;
  load.name = name;
  Diagnostics diagnostics;
  try {
    load.inputs = inputsOf(input);
    return loadAndReport(load, diagnostics);
  } catch (const Error& error) {
    throw Error(std::string(name) + ": " + error.what());
  }
}

}  // namespace

void describeDiff(CommandApp& app) {
  static DiffCommandOptions options;
  addDiffOptions(app, options);
}

int diffCommand(int argc, char** argv) {
  DiffCommandOptions options;
  CommandApp app("pipe-trace diff");
  addDiffOptions(app, options);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;
  if (options.a == "-" && options.b == "-") {
    throw Error("A and B cannot both be standard input");
  }

  Timeline a = loadOne(options, options.a, "A");
  Timeline b = loadOne(options, options.b, "B");
  const RunDiff diff = diffOf(std::move(a), std::move(b),
                              {.steps = options.load.selection.steps,
                               .tolerance = options.tolerance,
                               .threads = options.load.reading.threads});
  const DiffReport report{diff, options.a, options.b};
  if (options.json) {
    writeWholeFile("-", diffJson(report));
  } else if (!options.load.quiet) {
    writeWholeFile("-", diffText(report));
  }
  if (!options.strict) return 0;
  const std::string verdict = diffVerdict(diff);
  if (verdict == "unknown" || verdict == "not_comparable") {
    throw Error("--strict cannot judge: " + diffAnswer(diff));
  }
  return diff.isSlower() ? kExitFindings : 0;
}

}  // namespace pipetrace
