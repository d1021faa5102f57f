#include "apps/pipe_trace/advise/advise.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/present/advice_report.h"
#include "apps/cli/checks.h"
#include "apps/cli/command_app.h"
#include "apps/cli/print.h"
#include "apps/cli/progress_bar.h"
#include "apps/pipe_trace/inputs/blocks_options.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "apps/pipe_trace/inputs/load_run_options.h"
#include "apps/pipe_trace/inputs/view_command.h"
#include "trace/files/output_file.h"

namespace pipetrace {
namespace {

constexpr double kBytesOfGb = 1e9;

struct AdviseOptions {
  LoadRunOptions load;
  std::optional<double> limit;         ///< GB
  std::optional<double> activationGb;  ///< of an activation of a whole share
  std::optional<double> limitActivations;
  BlocksOptions blocks;
  bool json = false;
};

void addAdviseOptions(CommandApp& app, AdviseOptions& options) {
  app.description(
      "Says what to change in a run, and what it would bring: the three changes that gain most,\n"
      "each with the step that is predicted, its error, its price, and the options of torch,\n"
      "torchtitan, Megatron-LM and DeepSpeed. docs/advice.md says what is tried.");
  app.describeEnd({{"0", "done, also where nothing gains anything"},
                   {"1", "done, with --strict and findings in the input"},
                   {"2", "could not"}},
                  {"pipe-trace advise logs", "pipe-trace advise logs --limit-activations 8",
                   "pipe-trace advise logs --limit 60 --activation-gb 2.5 --json",
                   "pipe-trace advise logs --blocks blocks.json"});
  addLoadRunOptions(app, options.load);
  refuseParts(app, "advice");
  constexpr const char* kGroup = "Memory";
  auto* const activations =
      app.add_option("--limit-activations", options.limitActivations,
                     "Activations of micro-batches that a rank may hold, each of all stages of the "
                     "rank (default: as many as the rank of the run that holds most)")
          ->type_name("N")
          ->check(aboveZero())
          ->check(range(0.0, kMostActivations))
          ->group(kGroup);
  auto* const limit =
      app.add_option("--limit", options.limit,
                     "The same in GB, of activations alone; needs --activation-gb, or "
                     "--blocks FILE with activation_bytes")
          ->type_name("GB")
          ->check(aboveZero())
          ->excludes(activations)
          ->group(kGroup);
  app.add_option("--activation-gb", options.activationGb,
                 "What a micro-batch takes on all stages of a rank, as in pipe-trace plan "
                 "(default: the mean of the ranks by the activation_bytes of --blocks)")
      ->type_name("GB")
      ->check(aboveZero())
      ->needs(limit)
      ->group(kGroup);
  addBlocksOptions(app, options.blocks, "Partition");
  app.add_flag("--json", options.json, "Print all of it as JSON");
}

/// The question that the options ask, which `app` has parsed.
AdviceQuestion questionOf(const CommandApp& app, const AdviseOptions& options) {
  AdviceQuestion question{.steps = options.load.selection.steps,
                          .activationLimit = options.limitActivations,
                          .logs = inputsOfCommand(app, options.load),
                          .blocks = options.blocks.given(),
                          .blockOptions = options.blocks.words()};
  if (options.limit) question.limitBytes = *options.limit * kBytesOfGb;
  if (options.activationGb) question.activationBytes = *options.activationGb * kBytesOfGb;
  return question;
}

/// The bar is gone when it returns, or throws.
AdviceList adviceWithBar(const Run& run, AdviceQuestion question, bool isQuiet) {
  AdviceProgress progress;
  question.progress = &progress;
  const ProgressBar bar("trying", progress.tried, progress.inAll,
                        {.quiet = isQuiet, .unit = "changes"});
  return adviceOn(run, question);
}

}  // namespace

void describeAdvise(CommandApp& app) {
  static AdviseOptions options;
  addAdviseOptions(app, options);
}

int adviseCommand(int argc, char** argv, const TraceReaders& readers) {
  AdviseOptions options;
  CommandApp app("pipe-trace advise");
  addAdviseOptions(app, options);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;
  AdviceQuestion question = questionOf(app, options);
  Diagnostics diagnostics;
  const Run run = loadAndReport(options.load, readers, diagnostics);
  const std::vector<Doubt> doubts = doubtAndReport(options.load, run, diagnostics);
  const AdviceList list = adviceWithBar(run, std::move(question), options.load.quiet);
  if (options.json) {
    writeWholeFile("-", adviceJson(list));
  } else {
    printText(adviceText(list));
  }
  return exitCodeOf(options.load, diagnostics, doubts);
}

AdviceList adviceOn(const LoadedRun& run, const std::vector<std::string>& words,
                    AdviceProgress* progress) {
  AdviseOptions options;
  CommandApp app("pipe-trace advise");
  addAdviseOptions(app, options);
  parseWords(app, words);
  AdviceQuestion question = questionOf(app, options);
  question.progress = progress;
  return adviceOn(run.run, question);
}

}  // namespace pipetrace
