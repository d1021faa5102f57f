#include "apps/pipe_trace/what_if/what_if.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/present/what_if_report.h"
#include "analysis/run_summary.h"
#include "analysis/what_if/what_if.h"
#include "apps/cli/checks.h"
#include "apps/cli/command_app.h"
#include "apps/cli/message_options.h"
#include "apps/cli/print.h"
#include "apps/cli/profile_format.h"
#include "apps/cli/shared_options.h"
#include "apps/pipe_trace/inputs/blocks_options.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "apps/pipe_trace/inputs/load_run_options.h"
#include "apps/pipe_trace/outputs/profile_outputs.h"
#include "ingest/output_files.h"
#include "schedule/build_schedule.h"
#include "schedule/builders/stage_ranks.h"
#include "schedule/file/schedule_file.h"
#include "schedule/scale/scale_option.h"
#include "trace/error.h"
#include "trace/files/output_set.h"
#include "trace/text/fit_to_print.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {

namespace {

/// The options of `pipe-trace what-if`, as typed.
struct WhatIfOptions {
  LoadRunOptions load;
  ProfileOutputs profiles;  ///< -o; its `json` stays as it is
  std::vector<std::string> scales;
  std::vector<std::string> links;
  std::string balance;
  std::vector<std::string> ideals;
  bool noLaunch = false;
  std::vector<int> usualLaunches;
  std::string commStreams;
  std::string transfers;
  std::string schedule;
  std::string split;
  std::string stageDepths;
  int chunks = 0;
  int microBatches = 0;
  bool keepBatch = false;
  std::string partition;
  BlocksOptions blocks;
  std::optional<double> limitActivations;
  std::optional<double> tokensPerStep;
  std::string csv;
  bool json = false;

  /// Reads the files of blocks and partitions. Throws Error, which names the option.
  WhatIfQuestion question() const;
  /// The changes that are asked for, with their options: "--scale stage=2:0.8".
  std::vector<std::string> asked() const;
};

constexpr const char* kRunGroup = "Changes of the run itself (several hold together)";
constexpr const char* kPlanGroup = "Another plan (a simulation with the run's medians)";

/// "3:1": the input half and the weight half of a backward.
std::pair<int, int> splitOf(const std::string& text) {
  constexpr int kMost = 1'000'000;
  const std::size_t colon = text.find(':');
  const auto input = parseNumber<int>(std::string_view(text).substr(0, colon));
  const auto weight = colon == std::string::npos
                          ? std::nullopt
                          : parseNumber<int>(std::string_view(text).substr(colon + 1));
  if (!input || !weight || *input < 1 || *weight < 1 || *input > kMost || *weight > kMost) {
    throw Error("--split " + text + ": write it as 1:1 or 3:2, the input half and the weight half");
  }
  return {*input, *weight};
}

void addBlocks(const WhatIfOptions& options, WhatIfQuestion& question) {
  question.blocks = options.blocks.given();
  if (!options.partition.empty()) {
    if (!question.blocks) {
      throw Error("--partition " + options.partition +
                  " needs --blocks: FILE, a table of what the blocks of the model cost "
                  "(docs/schedules.md), or equal, where the blocks of a stage are alike");
    }
    question.plan.partition = partitionTyped("--partition", options.partition);
  }
  if (!options.csv.empty() && question.plan.empty()) {
    throw Error("--csv goes with another plan, such as --schedule or --chunks");
  }
  if (options.csv == "-") throw Error("--csv -: the answer is printed there; name a file");
  if (question.blocks && question.plan.empty()) {
    throw Error("--blocks goes with another plan, such as --partition or --chunks");
  }
}

WhatIfQuestion WhatIfOptions::question() const {
  WhatIfQuestion question;
  for (const std::string& text : scales) {
    question.run.scales.push_back(parseScale(text, ZeroScale::kOfKinds));
  }
  for (const std::string& text : links) {
    const Faults::Link link = parseLink(text);
    question.run.links.push_back({link.rank, link.peer, link.transfer, "--link " + text});
  }
  if (!balance.empty() && balance != "stages") {
    throw Error("--balance " + balance + ": it is stages");
  }
  question.run.balancesStages = !balance.empty();
  for (const std::string& text : ideals) question.run.ideals.push_back(IdealSet::parse(text));
  question.run.leavesOutLaunches = noLaunch;
  question.run.usualLaunches = usualLaunches;
  question.plan = {.schedule = schedule,
                   .chunks = chunks,
                   .microBatches = microBatches,
                   .keepsBatch = keepBatch};
  if (!stageDepths.empty()) question.plan.depths = stageDepthsOption(stageDepths);
  if (!commStreams.empty()) question.plan.lines = MessageOptions{{}, commStreams}.lines();
  if (!transfers.empty() && transfers != "in-time" && transfers != "torch") {
    throw Error("--transfers " + transfers + ": it is in-time or torch");
  }
  question.plan.transfers = transfers;
  if (!split.empty()) question.plan.split = splitOf(split);
  question.plan.activationLimit = limitActivations.value_or(0);
  addBlocks(*this, question);
  question.steps = load.selection.steps;
  question.tokensPerStep = tokensPerStep;
  return question;
}

std::vector<std::string> WhatIfOptions::asked() const {
  std::vector<std::string> list;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) list.push_back(fmt::format("{} {}", option, value));
  };
  const auto addNumber = [&](const char* option, int value) {
    if (value > 0) list.push_back(fmt::format("{} {}", option, value));
  };
  for (const std::string& text : scales) add("--scale", text);
  for (const std::string& text : links) add("--link", text);
  add("--balance", balance);
  for (const std::string& text : ideals) add("--make-ideal", text);
  if (noLaunch) list.emplace_back("--no-launch");
  for (const int rank : usualLaunches) list.push_back(fmt::format("--usual-launch {}", rank));
  add("--schedule", schedule);
  add("--split", split);
  addNumber("--chunks", chunks);
  add("--stage-depths", stageDepths);
  addNumber("--micro-batches", microBatches);
  if (keepBatch) list.emplace_back("--keep-batch");
  add("--partition", partition);
  add("--blocks", blocks.blocks);
  add("--run-partition", blocks.runPartition);
  if (limitActivations) list.push_back(fmt::format("--limit-activations {}", *limitActivations));
  add("--comm-streams", commStreams);
  add("--transfers", transfers);
  return list;
}

/// Declares them. `options` must outlive `app`.
void addWhatIfOptions(CommandApp& app, WhatIfOptions& options) {
  app.description(
      "Says how long a step would take with changes, and how far that can be trusted. Factors and\n"
      "links run the recorded run again, each job as late as it was. Another schedule, chunks,\n"
      "micro-batches or order of messages are simulated with the run's medians. Both have their\n"
      "error printed beside them. docs/what-if.md says more.");
  app.describeEnd({{"0", "done"},
                   {"1", "done, with --strict and findings in the input"},
                   {"2", "could not, or there is no answer that can be trusted"}},
                  {"pipe-trace what-if logs --scale stage=3:0.8",
                   "pipe-trace what-if logs --balance stages -o balanced.svg",
                   "pipe-trace what-if logs --schedule ZB-H1 --split 2:1",
                   "pipe-trace what-if logs --micro-batches 32 --keep-batch",
                   "pipe-trace what-if logs --partition 12,13,13,11 --blocks blocks.json"});
  addLoadRunOptions(app, options.load);
  refuseParts(app, "a what-if");
  const auto own = [&](const char* name, auto& to, const char* type, const std::string& what) {
    return app.add_option(name, to, what)
        ->type_name(type)
        ->group(kRunGroup)
        ->allow_extra_args(false);
  };
  own("--scale", options.scales, "WHAT:FACTOR",
      "All jobs of a stage (stage=3:0.8), of a rank (rank=5:0.9) or of a kind (kind=transfer:0) "
      "take FACTOR times as long, or the messages of two ranks (link=1-2:0.5). A kind may take "
      "none. May be given several times");
  own("--link", options.links, "R-R=TIME",
      "A message between two ranks takes TIME (1-2=4ms); may be given several times");
  app.offer(own("--balance", options.balance, "stages",
                "Each stage takes the mean of all stages for each kind of job, so that the work is "
                "kept"),
            {"stages"});
  own("--make-ideal", options.ideals, "SET",
      "Jobs of the set take the mean of their kind, messages and collectives the median. Others "
      "keep their times, so that work goes away. Sets are stage=3, rank=5, replica=1, "
      "kind=backward, worst=3% (of the ranks) and all. May be given several times");
  app.add_flag("--no-launch", options.noLaunch,
               "Everything begins when its last input is there; pauses between steps stay")
      ->group(kRunGroup);
  own("--usual-launch", options.usualLaunches, "R",
      "The jobs of a rank begin, and its messages are sent and received, as long after their "
      "inputs "
      "as those of the others, in the median. May be given several times");
  const auto plan = [&](const char* name, auto& to, const char* type, const std::string& what) {
    return app.add_option(name, to, what)->type_name(type)->group(kPlanGroup);
  };
  CLI::Option* const schedule =
      plan("--schedule", options.schedule, "NAME", "Another schedule, of pipe-trace plan --list")
          ->check(notEmpty());
  app.offer(schedule, scheduleNames());
  plan("--split", options.split, "I:W",
       "How long the input half of a backward is beside the weight half (default: as in the run, "
       "else 1:1)")
      ->needs(schedule);
  plan("--chunks", options.chunks, "V",
       "Virtual stages per rank; each stage of the run is cut evenly, in the model's order, or by "
       "--blocks")
      ->check(range(1, 1024));
  plan("--stage-depths", options.stageDepths, "D,D,...",
       "With how many forwards each stage warms up, as in 3,2,1,0; for " + schedulesWithDepths() +
           " with one stage a rank")
      ->check(notEmpty());
  CLI::Option* const microBatches =
      plan("--micro-batches", options.microBatches, "M", "More or fewer micro-batches of a step")
          ->check(range(1, 1'000'000));
  app.add_flag("--keep-batch", options.keepBatch,
               "The batch stays: the micro-batches are smaller or larger, and so are jobs and "
               "activations, but not messages and launches")
      ->group(kPlanGroup)
      ->needs(microBatches);
  plan("--partition", options.partition, "FILE|N,N,...",
       "Another partition of the model into stages: a file that trainings read, or the number of "
       "blocks of each stage, 12,13,13,11. Needs --blocks")
      ->check(notEmpty());
  addBlocksOptions(app, options.blocks, kPlanGroup);
  plan("--limit-activations", options.limitActivations, "N",
       "For --schedule auto: the most activations that a rank may hold, each of all stages of the "
       "rank (default: any)")
      ->check(aboveZero())
      ->check(range(0.0, kMostActivations))
      ->needs(schedule);
  plan("--comm-streams", options.commStreams, "LINES",
       "On which lines messages run one after the other: message, edge, peer, direction or rank "
       "(pipe-trace plan --help; default: as in the run)");
  plan("--transfers", options.transfers, "HOW",
       "Messages in the order of their times (in-time), or where torch.distributed.pipelining "
       "posts them (torch)");
  constexpr const char* kOutput = "Output";
  CLI::Option* const output =
      app.add_option("-o,--output", options.profiles.names,
                     "The changed run as " + profileFormatList() + "; may be given several times")
          ->type_name("OUT")
          ->allow_extra_args(false)
          ->group(kOutput);
  app.writes(output);
  addThemeOptions(app, output, options.profiles.theme, options.profiles.isDark);
  app.writes(app.add_option(
                    "--csv", options.csv,
                    "Write the changed plan as a schedule file, a row a rank, which trainings take")
                 ->type_name("FILE")
                 ->check(notEmpty())
                 ->group(kOutput));
  app.add_flag("--json", options.json, "Print all figures as JSON")->group(kOutput);
  app.add_option("--tokens-per-step", options.tokensPerStep,
                 "Tokens of the whole run in one step, where logs do not know")
      ->type_name("N")
      ->check(aboveZero())
      ->group(kOutput);
}

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

std::string whatIfOn(const LoadedRun& run, const std::vector<std::string>& words) {
  WhatIfOptions options;
  CommandApp app("pipe-trace what-if");
  addWhatIfOptions(app, options);
  parseWords(app, words);
  const WhatIfAnswer answer = whatIf(run.run, options.question());
  if (!answer.refusal.empty()) throw Error(answer.refusal);
  const WhatIfReport report{answer, options.asked()};
  return options.json ? whatIfJson(report) : whatIfText(report);
}

}  // namespace pipetrace
