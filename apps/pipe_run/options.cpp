#include "apps/pipe_run/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string_view>

namespace pipetrace {
namespace {

const CLI::Validator kNotEmpty(
    [](std::string& text) { return text.empty() ? "the folder's name is empty" : std::string(); },
    "", "not empty");

/// As a shell takes it back.
std::string quoted(const std::string& argument) {
  const auto isPlain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("-_./=:,+@%").find(c) != std::string_view::npos;
  };
  if (!argument.empty() && std::all_of(argument.begin(), argument.end(), isPlain)) return argument;
  std::string text = "'";
  for (const char c : argument) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

void addRehearse(CLI::App& app, PipeRunOptions& options) {
  RehearseOptions& to = options.rehearsal;
  CLI::App* const rehearse = app.add_subcommand(
      "rehearse",
      "Runs a schedule on emulated devices: jobs take their time by waiting, so that a few cores\n"
      "show what many devices would do. Prints the step's length beside the planned one.");
  rehearse->footer(
      "Exit codes: 0 done; 1 done, with --strict and off the plan; 2 could not; 128 + n stopped "
      "by\n"
      "signal n.\n"
      "Example: pipe-run rehearse --schedule 1F1B --ranks 4 --micro-batches 8 --forward-ms 10 \\\n"
      "             --backward-ms 20 --log-dir rehearsal");
  rehearse->parse_complete_callback([&options] { options.isRehearsal = true; });

  CLI::Option* const file = rehearse
                                ->add_option("--schedule-file", to.scheduleFile,
                                             "Plan to run: one row a rank, cells like 0F3 and 1B2")
                                ->type_name("FILE.csv");
  rehearse->add_option("--schedule", to.schedule, "Schedule to run, like 1F1B")
      ->type_name("NAME")
      ->excludes(file);
  rehearse->add_option("--ranks", to.ranks, "Pipeline ranks of the schedule")
      ->type_name("P")
      ->check(CLI::Range(1, 1024));
  rehearse
      ->add_option("--chunks", to.chunks,
                   "Stages per rank, for interleaved schedules (default: the usual number)")
      ->type_name("V")
      ->check(CLI::Range(1, 1024))
      ->excludes(file);
  rehearse->add_option("--micro-batches", to.microBatches, "Micro-batches per step")
      ->type_name("M")
      ->check(CLI::Range(1, 1'000'000));
  rehearse->add_option("--steps", to.steps, "Steps to run (default: 5)")
      ->type_name("K")
      ->check(CLI::Range(1, 1'000'000));

  CLI::Option* const from =
      rehearse
          ->add_option("--costs-from", to.costsFrom,
                       "Logs or profile of a run: jobs take what they took there (medians)")
          ->type_name("INPUT");
  const auto time = [&](const char* name, std::string& value, const char* what) {
    rehearse->add_option(name, value, what)->type_name("MS")->excludes(from);
  };
  time("--forward-ms", to.forwardMs, "How long a forward job takes, in milliseconds");
  time("--backward-ms", to.backwardMs, "How long a backward job takes");
  time("--transfer-ms", to.transferMs, "How long a message between two ranks takes (default: 0)");
  time("--lr-ms", to.lrMs, "How long lr takes, which opens each step (default: 0)");
  time("--optimizer-ms", to.optimizerMs,
       "How long the optimizer takes, which closes each step (default: 0)");
  rehearse
      ->add_option("--log-dir", to.logDirectory,
                   "Where the job logs go; workerlog.<rank> of earlier runs there are removed")
      ->type_name("DIR")
      ->check(kNotEmpty)
      ->required();
  rehearse->add_flag(
      "--strict", to.strict,
      "Exit with 1 if the step's length is off the plan by over 1 %, the bubble ratio by\n"
      "over 0.01, or a rank ran out of order");
}

}  // namespace

void addPipeRunOptions(CLI::App& app, PipeRunOptions& options) {
  app.description(
      "Runs a training program as several ranks on this machine, or rehearses a schedule.\n"
      "  pipe-run [OPTIONS] -- PROGRAM [ARGUMENTS]\n"
      "  pipe-run rehearse [OPTIONS]");
  app.footer(
      "Each rank finds RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT ... as torchrun sets them, and\n"
      "PIPETRACE_LOG_DIR. Exit codes: 0 done; 1 done, with --strict and findings; 2 could not, or\n"
      "a rank failed; 128 + n stopped by signal n.\n"
      "Example: pipe-run --ranks 4 --log-dir logs -- ./train --schedule 1F1B");
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return "pipe-run: " + std::string(error.what()) + "\nRun with --help for more information.\n";
  });
  app.set_version_flag("--version", "pipe-run " PIPETRACE_VERSION);
  app.require_subcommand(0, 1);
  app.add_option("--ranks", options.ranks, "Processes to start (default: 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  app.add_option("--log-dir", options.logDirectory,
                 "Where each rank's output and job log go, as workerlog.<rank> (default: logs); "
                 "those of earlier runs are removed")
      ->type_name("DIR")
      ->check(kNotEmpty);
  app.add_flag(
      "--visualize-pipeline,--visualize_pipline", options.recording,
      "Switch the recording of jobs on in programs that link the profiler (PIPETRACE=1); the "
      "second is PaddlePaddle's spelling");
  app.add_option("--master-port", options.masterPort,
                 "Port of the ranks' rendezvous on 127.0.0.1 (default: a free one)")
      ->type_name("P")
      ->check(CLI::Range(1, 65535));
  addRehearse(app, options);
}

std::vector<std::string> takeCommand(std::vector<std::string>& arguments) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (dashes == arguments.end()) return {};
  std::vector<std::string> command(dashes + 1, arguments.end());
  arguments.erase(dashes, arguments.end());
  return command;
}

std::string withDashes(const std::vector<std::string>& arguments) {
  auto program = arguments.begin();
  while (program != arguments.end() && program->starts_with("-")) {
    const bool takesNext =
        *program == "--ranks" || *program == "--log-dir" || *program == "--master-port";
    const bool isWhole = program->starts_with("--ranks=") || program->starts_with("--log-dir=") ||
                         program->starts_with("--master-port=");
    const bool isFlag = *program == "--visualize-pipeline" || *program == "--visualize_pipline";
    if (!takesNext && !isWhole && !isFlag) return "";
    program += takesNext && program + 1 != arguments.end() ? 2 : 1;
  }
  if (program == arguments.end() || *program == "rehearse") return "";
  std::string line = "pipe-run";
  for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
    line += (argument == program ? " -- " : " ") + quoted(*argument);
  }
  return line;
}

}  // namespace pipetrace
