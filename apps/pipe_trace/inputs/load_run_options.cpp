#include "apps/pipe_trace/inputs/load_run_options.h"

#include <optional>
#include <string>

#include "apps/cli/checks.h"
#include "apps/cli/command_app.h"
#include "apps/cli/selection_options.h"
#include "apps/pipe_trace/inputs/foreign_options.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr int kMostThreads = 4096;
constexpr int kHighestRun = 1'000'000'000;
constexpr int kMostRanks = 100'000;

void addSelectionOptions(CLI::App& app, Selection& selection) {
  addStepsOption(app, [&](const NumberRange& steps) { selection.steps = {steps}; });
  addRanksOption(app, selection.ranks);
  app.add_option("--skip", selection.skippedTypes,
                 "Leave out what is of these types, as in recv_forward,lr; may be given several "
                 "times; none: nothing")
      ->type_name("LIST")
      ->delimiter(',')
      ->allow_extra_args(false);
}

void addTopologyOptions(CLI::App& app, GivenTopology& topology) {
  const auto add = [&](const char* name, std::optional<int>& number, const char* what) {
    app.add_option(name, number, what)->type_name("N")->check(range(1, kMostRanks));
  };
  add("--pp", topology.pipelineRanks, "Ranks of a pipeline, where the logs do not say it");
  add("--dp", topology.replicas, "Pipelines (data parallel), where the logs do not say it");
  add("--vpp", topology.chunks, "Stages on a rank, where the logs do not say it");
  add("--tp", topology.tensorRanks,
      "Ranks that share the work of a stage (tensor parallel), where the logs do not say it");
}

}  // namespace

void addReadingOptions(CommandApp& app, LoadRunOptions& options) {
  options.reading.program = app.get_name();
  app.add_option("--threads", options.reading.threads,
                 "How many threads may read and write (default: 0, one per core)")
      ->type_name("N")
      ->check(range(0, kMostThreads));
  app.add_option(
         "--run", options.reading.run,
         "Of logs that hold several runs, read this one, counted from 0 (default: the last)")
      ->type_name("N")
      ->check(range(0, kHighestRun));
  addForeignOptions(app, options);
  addTopologyOptions(app, options.topology);
  addAlignOption(app, options.align);
}

void addLoadRunOptions(CommandApp& app, LoadRunOptions& options) {
  app.add_option("INPUT", options.inputs,
                 "Folders or files: job logs, traces of torch.profiler, Nsight Systems and others "
                 "(docs/inputs.md), profiles; - is standard input")
      ->type_name("")
      ->required();
  addReadingOptions(app, options);
  addSelectionOptions(app, options.selection);
  app.add_flag("--strict", options.strict, "Exit with 1 if something is wrong in the input");
  app.add_flag("-q,--quiet", options.quiet,
               "Hide notes and progress, and print no report that -o writes");
}

void refuseParts(CommandApp& app, const std::string& what) {
  for (const std::string name : {"--ranks", "--skip"}) {
    app.remove_option(app.get_option(name));
    app.add_option_function<std::string>(
           name,
           [name, what](const std::string&) {
             throw Error(name + " makes no sense for " + what +
                         ", as ranks wait for all work of the others; --steps chooses the steps "
                         "that it is about");
           })
        ->group("");
  }
}

}  // namespace pipetrace
