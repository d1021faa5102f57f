#include "apps/pipe_trace/diff.h"

#include <glob.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/present/diff_report.h"
#include "analysis/present/page/diff_page.h"
#include "apps/cli/command_app.h"
#include "apps/cli/selection_options.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "apps/pipe_trace/inputs/view_command.h"
#include "apps/pipe_trace/outputs/report_outputs.h"
#include "ingest/output_files.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// The inputs that one word names: a file or folder of that name, else the names that match it as a
/// shell's pattern with *, ? and [], in their order. Throws Error for a pattern that nothing
/// matches.
std::vector<std::string> inputsOf(const std::string& word) {
  std::error_code fault;
  const bool isPattern = word.find_first_of("*?[") != std::string::npos;
  if (!isPattern || std::filesystem::exists(word, fault)) return {word};
  glob_t found{};
  const int result = glob(word.c_str(), GLOB_MARK, nullptr, &found);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < found.gl_pathc; ++i) names.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  if (result != 0 || names.empty()) {
    throw Error("no file matches " + word + "; check the pattern");
  }
  return names;
}

struct DiffCommandOptions {
  std::string a;
  std::string b;
  LoadRunOptions load;  ///< of both
  double tolerance = 0.02;
  ReportOutputs outputs{.what = "comparison"};
  bool sameBatch = false;
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
                  {"pipe-trace diff before after", "pipe-trace diff before after -o diff.html",
                   "pipe-trace diff before after --strict",
                   "pipe-trace diff 'runs/*.a.json' 'runs/*.b.json' --json"});
  app.add_option("A", options.a,
                 "The run to compare with: a folder, a file, or a quoted pattern "
                 "such as 'logs/*.json'; - is standard input")
      ->type_name("")
      ->required();
  app.add_option("B", options.b, "The other run, likewise")->type_name("")->required();
  addReportOutputs(app, options.outputs, "docs/diff.schema.json");
  app.add_option_function<std::string>(
         "--tolerance", [&options](const std::string& text) { options.tolerance = shareIn(text); },
         "The share of A's step by which B may be slower, as 2% or 0.02 (default: 2%)")
      ->type_name("SHARE");
  app.add_flag(
      "--same-batch", options.sameBatch,
      "A step of both runs has as many samples, also where it is cut into other numbers of "
      "micro-batches (default: as tokens in the logs say)");
  app.add_flag("--strict", options.strict,
               "Exit with 1 if B is slower by more than the tolerance, beyond noise");
  addStepsOption(app, [&](const NumberRange& steps) { options.load.selection.steps = {steps}; });
  addReadingOptions(app, options.load);
  app.add_flag("-q,--quiet", options.load.quiet,
               "Hide notes and progress, and print no report that -o writes");
}

/// The options of one run.
LoadRunOptions loadOptionsOf(const DiffCommandOptions& options, const std::string& input,
                             const char* name) {
  LoadRunOptions load = options.load;
  load.name = name;
  try {
    load.inputs = inputsOf(input);
  } catch (const Error& error) {
    throw Error(std::string(name) + ": " + error.what());
  }
  return load;
}

LoadedRun loadOne(LoadRunOptions load, const TraceReaders& readers) {
  LoadedRun run{.load = std::move(load)};
  try {
    run.run = loadAndReport(run.load, readers, run.diagnostics, &run.files, &run.alignment);
    run.doubts = doubtAndReport(run.load, run.run, run.diagnostics);
  } catch (const Error& error) {
    throw Error(run.load.name + ": " + error.what());
  }
  return run;
}

/// A run with what is said of it alone, which is of the steps that are compared.
struct RunOfPage {
  MeasuredRun measured;
  Explanation explanation;
  std::string viewCommand;
  RunReport report;

  RunOfPage(const LoadedRun& run, const DiffCommandOptions& options)
      : measured(measuredFor(run, options.load.selection.steps)),
        explanation(run.run, {.steps = comparedSteps(measured, options.load.selection.steps)}),
        viewCommand(viewCommandOf(run.load)),
        report{.explanation = explanation,
               .diagnostics = run.diagnostics,
               .alignment = &run.alignment,
               .viewCommand = viewCommand,
               .doubts = run.doubts} {}

  static MeasuredRun measuredFor(const LoadedRun& run, const std::vector<NumberRange>& chosen) {
    try {
      return measureRun(run.run, chosen);
    } catch (const Error& error) {
      throw Error(run.load.name + ": " + error.what());
    }
  }
};

using WriteForms = std::function<void(const std::function<std::string(ReportFormat)>& contentsOf)>;

std::string textOf(const DiffReport& report, ReportFormat format) {
  return format == ReportFormat::kJson ? diffJson(report) : diffText(report);
}

/// Gives `write` the maker of each form, also of the page, which needs the whole runs.
RunDiff compareWithPage(LoadedRun& a, LoadedRun& b, const DiffCommandOptions& options,
                        const WriteForms& write) {
  const std::vector<int> onlyRanks = leaveRanksOfBoth(a.run, b.run);
  RunOfPage pageOfA(a, options);
  RunOfPage pageOfB(b, options);
  pageOfA.measured.hasSameBatch = options.sameBatch;
  RunDiff diff =
      diffOf(std::move(pageOfA.measured), std::move(pageOfB.measured), options.tolerance);
  diff.onlyRanks = onlyRanks;
  const DiffReport report{diff, options.a, options.b};
  write([&](ReportFormat format) {
    return format == ReportFormat::kPage
               ? diffPage({report, pageOfA.report, pageOfB.report, PIPETRACE_VERSION})
               : textOf(report, format);
  });
  return diff;
}

RunDiff compare(LoadedRun& a, LoadedRun& b, const DiffCommandOptions& options) {
  RunDiff diff = diffOf(std::move(a.run), std::move(b.run),
                        {.steps = options.load.selection.steps,
                         .sameBatch = options.sameBatch,
                         .tolerance = options.tolerance});
  const DiffReport report{diff, options.a, options.b};
  writeReports(options.outputs, [&](ReportFormat format) { return textOf(report, format); });
  return diff;
}

}  // namespace

void describeDiff(CommandApp& app) {
  static DiffCommandOptions options;
  addDiffOptions(app, options);
}

int diffCommand(int argc, char** argv, const TraceReaders& readers) {
  DiffCommandOptions options;
  CommandApp app("pipe-trace diff");
  addDiffOptions(app, options);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;
  if (options.a == "-" && options.b == "-") {
    throw Error("A and B cannot both be standard input");
  }

  options.outputs.quiet = options.load.quiet;
  checkReportOutputs(options.outputs);
  LoadRunOptions loadOfA = loadOptionsOf(options, options.a, "A");
  LoadRunOptions loadOfB = loadOptionsOf(options, options.b, "B");
  LoadRunOptions both = loadOfA;
  both.inputs.insert(both.inputs.end(), loadOfB.inputs.begin(), loadOfB.inputs.end());
  checkOutputFiles(options.outputs.names, both);
  LoadedRun a = loadOne(std::move(loadOfA), readers);
  LoadedRun b = loadOne(std::move(loadOfB), readers);
  for (const LoadedRun* const run : {&a, &b}) checkOutputs(options.outputs.names, run->files);
  const RunDiff diff = wantsPage(options.outputs)
                           ? compareWithPage(a, b, options,
                                             [&](const auto& contentsOf) {
                                               writeReports(options.outputs, contentsOf);
                                             })
                           : compare(a, b, options);
  if (!options.strict) return 0;
  const std::string verdict = diffVerdict(diff);
  if (verdict == "unknown" || verdict == "not_comparable") {
    throw Error("--strict cannot judge: " + diffAnswer(diff));
  }
  return diff.isSlower() ? kExitFindings : 0;
}

namespace {

bool haveSameRanks(const Timeline& a, const Timeline& b) {
  return std::equal(a.ranks.begin(), a.ranks.end(), b.ranks.begin(), b.ranks.end(),
                    [](const auto& one, const auto& other) { return one.first == other.first; });
}

/// A run of its own with the same events.
LoadedRun copyOf(const LoadedRun& run) {
  return {.load = run.load,
          .diagnostics = run.diagnostics,
          .alignment = run.alignment,
          .files = run.files,
          .run = Run(Timeline(run.run.timeline()), run.run.threads()),
          .doubts = run.doubts};
}

}  // namespace

std::string diffOn(LoadedRun& a, LoadedRun& b, const std::vector<std::string>& words,
                   ReportFormat format) {
  DiffCommandOptions options;
  CommandApp app("pipe-trace diff");
  addDiffOptions(app, options);
  parseWords(app, words);
  std::optional<LoadedRun> copyOfA;
  std::optional<LoadedRun> copyOfB;
  if (!haveSameRanks(a.run.timeline(), b.run.timeline())) {  // those of one alone are left out
    copyOfA = copyOf(a);
    copyOfB = copyOf(b);
  }
  LoadedRun& one = copyOfA ? *copyOfA : a;
  LoadedRun& other = copyOfB ? *copyOfB : b;
  if (format == ReportFormat::kPage) {
    std::string page;
    compareWithPage(one, other, options,
                    [&](const auto& contentsOf) { page = contentsOf(format); });
    return page;
  }
  const std::vector<int> onlyRanks = leaveRanksOfBoth(one.run, other.run);
  const std::vector<NumberRange>& steps = options.load.selection.steps;
  MeasuredRun measured = RunOfPage::measuredFor(one, steps);
  measured.hasSameBatch = options.sameBatch;
  RunDiff diff =
      diffOf(std::move(measured), RunOfPage::measuredFor(other, steps), options.tolerance);
  diff.onlyRanks = onlyRanks;
  return textOf({diff, options.a, options.b}, format);
}

}  // namespace pipetrace
