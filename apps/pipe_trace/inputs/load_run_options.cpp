#include "apps/pipe_trace/inputs/load_run_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/checks.h"
#include "apps/cli/command_app.h"
#include "apps/cli/selection_options.h"
#include "parser/foreign/names/given_names.h"
#include "trace/error.h"
#include "trace/text/suggestions.h"

namespace pipetrace {

namespace {

std::string presetList() { return fmt::format("{}", fmt::join(namePresets(), ", ")); }

bool isThere(const std::string& word) {
  std::error_code fault;
  return findNamePreset(word) != nullptr || word == "-" || std::filesystem::exists(word, fault);
}

/// Throws Error for a word that is neither a preset nor a file.
void check(const std::string& word) {
  if (isThere(word)) return;
  const std::string meant = nearestName(word, namePresets());
  throw Error("--kinds: there is no preset and no file " + (word.empty() ? "\"\"" : word) +
              "; presets are " + presetList() + "; " +
              (meant.empty() ? "check the name" : "did you mean " + meant + "?"));
}

/// The presets and files of the option's values, each of which may be a list with commas.
std::vector<std::string> kindsIn(const std::vector<std::string>& values) {
  std::vector<std::string> words;
  for (const std::string& value : values) {
    if (isThere(value)) {
      words.push_back(value);
      continue;
    }
    for (std::size_t from = 0; from <= value.size();) {
      const std::size_t end = std::min(value.find(',', from), value.size());
      words.push_back(value.substr(from, end - from));
      check(words.back());
      from = end + 1;
    }
  }
  return words;
}

/// Declares the options for inputs of other programs: --pattern, --time-unit, --kinds, --time.
/// `options` must outlive `app`.
void addForeignOptions(CommandApp& app, LoadRunOptions& options) {
  CLI::Option* const pattern =
      app.add_option("--pattern", options.reading.pattern,
                     "Read any program's logs: a regular expression (RE2) with the groups type, "
                     "start, end or duration, micro_batch_id, step, rank, ...")
          ->type_name("REGEX");
  app.add_option_function<std::string>(
         "--time-unit",
         [&options](const std::string& name) {
           static const std::map<std::string, Nanoseconds> units = {
               {"ns", 1}, {"us", kNsPerUs}, {"ms", kNsPerMs}, {"s", kNsPerSecond}};
           options.reading.timeUnit = units.at(name);
         },
         "The unit of the times that --pattern finds (default: ms)")
      ->type_name("ns|us|ms|s")
      ->check(CLI::IsMember({"ns", "us", "ms", "s"}).description(""))
      ->needs(pattern);
  CLI::Option* const kinds =
      app.add_option_function<std::vector<std::string>>(
             "--kinds",
             [&options](const std::vector<std::string>& list) {
               options.reading.kinds = kindsIn(list);
             },
             "What the names of other tracers mean (docs/inputs.md): a preset (" + presetList() +
                 ") or a file that maps names to kinds of jobs; ./torch is a file; may be given "
                 "several times")
          ->type_name("FILE.json|PRESET")
          ->allow_extra_args(false);
  app.offer(kinds, namePresets());
  app.add_option_function<std::string>(
         "--time",
         [&options](const std::string& name) {
           static const std::map<std::string, JobTime> times = {
               {"auto", JobTime::kAuto}, {"device", JobTime::kDevice}, {"host", JobTime::kHost}};
           options.reading.jobTime = times.at(name);
         },
         "The times of jobs in other programs' traces: when their work ran, or those of the host's "
         "annotations (default: auto, the device's where there is one)")
      ->type_name("auto|device|host")
      ->check(CLI::IsMember({"auto", "device", "host"}).description(""));
}

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
