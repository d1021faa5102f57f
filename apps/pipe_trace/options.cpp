#include "apps/pipe_trace/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "apps/cli/checks.h"
#include "apps/cli/command_app.h"
#include "apps/cli/common_commands.h"
#include "apps/cli/profile_format.h"
#include "apps/cli/selection_options.h"
#include "apps/cli/theme_options.h"
#include "apps/pipe_trace/commands.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// `--name` and `--no-name`, of which the last one holds.
void addSwitch(CLI::App& app, const std::string& name, bool& value, const char* on,
               const char* off) {
  app.add_flag_callback(
         "--" + name, [&value] { value = true; }, on)
      ->trigger_on_parse();
  app.add_flag_callback(
         "--no-" + name, [&value] { value = false; }, off)
      ->trigger_on_parse();
}

std::vector<int> devicesFrom(const std::vector<std::string>& list) {
  constexpr std::int64_t kMostDevices = 100'000;
  std::vector<int> devices;
  for (const NumberRange& range : rangesFrom(list, "--devices")) {
    if (range.end - range.begin > kMostDevices) {
      throw CLI::ValidationError("--devices", "names too many devices");
    }
    for (std::int64_t device = range.begin; device < range.end; ++device) {
      devices.push_back(static_cast<int>(device));
    }
  }
  return devices;
}

/// Throws Error for a missing file whose name is a command, which the user has not put first, and
/// for a mistyped command.
void adviseOnCommands(const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code error;
    if (std::filesystem::exists(input, error) || input.find_first_of("./") != input.npos) continue;
    if (pipeTrace().find(input) != nullptr) {
      throw Error("there is no file " + input +
                  "; if the command is meant, it comes first: pipe-trace " + input + " ...");
    }
  }
  if (!inputs.empty()) refuseMistypedCommand(pipeTrace(), inputs.front());
}

/// Its options lift the need of an INPUT. Call it after all other options are declared: it excludes
/// those that convert a run.
void addPaddleOptions(CLI::App& app, PipeTraceOptions& options) {
  const std::vector<CLI::Option*> others = app.get_options([](const CLI::Option* option) {
    for (const char* name : {"--help", "--version", "--strict", "--quiet", "--skip"}) {
      if (option->check_name(name)) return false;
    }
    return true;
  });
  CLI::Option* const input = app.get_option("INPUT");
  const auto declare = [input](CLI::Option* option) {
    return option->each([input](const std::string&) { input->required(false); })
        ->group("PaddlePaddle's converter (writes its two files into DIR)");
  };
  CLI::Option* const devices = declare(app.add_option_function<std::vector<std::string>>(
      "--devices",
      [&options](const std::vector<std::string>& list) { options.devices = devicesFrom(list); },
      "Devices to convert, as in 0,1,2 or 0-2; in place of INPUT"));
  devices->type_name("LIST")->delimiter(',')->allow_extra_args(false);
  CLI::Option* const folder =
      declare(app.add_option("--log_dir,--log-dir", options.logFolder,
                             "Folder with workerlog.<device>, or machine<i>/workerlog.<device>"));
  folder->type_name("DIR")->needs(devices);
  devices->needs(folder);
  declare(app.add_flag("--multi_machine,--multi-machine", options.multiMachine,
                       "The logs are in DIR/machine<i>"))
      ->needs(devices);
  declare(app.add_option("--paddle-style", options.paddleStyle,
                         "2023: as its first published version (default: as 3.3.1)"))
      ->type_name("YEAR")
      ->check(CLI::IsMember({"2023"}).description(""))
      ->needs(devices);
  for (CLI::Option* const other : others) devices->excludes(other);
}

/// Following excludes the options that need the whole run, or all readings of the clocks.
void addFollow(CLI::App& app, PipeTraceOptions& options) {
  CLI::Option* const follow = app.add_flag(
      "--follow", options.follow,
      "Follow job logs that still grow: NAME.json gets each step once every rank has finished it "
      "and can be opened at any time; ends with the run, or at Ctrl-C. Times are as logged "
      "(--align none), since later readings of the clocks would move what is written already");
  for (const char* name : {"--json", "--run", "--pp", "--dp", "--vpp", "--tp", "--absolute-time",
                           "--pattern", "--time-unit", "--kinds", "--pipeline-logger"}) {
    if (CLI::Option* const other = app.get_option_no_throw(name)) follow->excludes(other);
  }
}

}  // namespace

void addProfileOptions(CLI::App& app, PipeTraceOptions& options) {
  CLI::Option* const output =
      app.add_option(
             "-o,--output", options.outputs,
             "Output to write: " + profileFormatList() +
                 ", or - for standard output; may be given several times. A chart shows the "
                 "last complete step, or those of --steps")
          ->type_name("FILE")
          ->transform([](const std::string& name) { return name == "/dev/stdout" ? "-" : name; })
          ->allow_extra_args(false);
  addThemeOptions(app, output, options.theme, options.isDark);
  app.add_option("--format", options.format,
                 "Format of outputs whose name does not say it, as of -")
      ->type_name(fmt::format("{}", fmt::join(profileFormatNames(), "|")))
      ->check(CLI::IsMember(profileFormatNames()).description(""));
  app.add_option("--pipeline-logger", options.pipelineLogger,
                 "Folder to write the run into as PipelineLogger of the VPipe walkthrough does: "
                 "pipeline_rank<r>.json with the starts and ends of jobs and messages")
      ->type_name("DIR")
      ->check(notEmpty());
  addSwitch(app, "bubbles", options.load.bubbles,
            "Write profiles with lanes of idle time (default)", "... without them");
  // Not in the help: tests see the advice without a large file.
  app.add_option("--large-json", options.largeJson)->group("");
  addSwitch(app, "flows", options.flows, "Write profiles with arrows between the jobs (default)",
            "... without them");
  app.add_flag(
      "--absolute-time", options.absoluteTime,
      "Write profiles whose times are those of the clock, not counted from the first event: "
      "since the Unix epoch, in Chrome JSON since midnight (UTC)");
}

void addPipeTraceOptions(CommandApp& app, PipeTraceOptions& options) {
  app.description(
      "Reads the job logs of a pipeline-parallel run, sums it up, and writes profiles that\n"
      "chrome://tracing, Perfetto and pipe-view open.\n\n"
      "Other commands (each has its own --help; a folder of that name is read as ./plan):\n" +
      pipeTrace().commandList());
  app.describeEnd(exitCodesOfReading(), {"pipe-trace logs -o profile.json"});
  addVersion(app);

  addLoadRunOptions(app, options.load);
  addProfileOptions(app, options);
  // Not in the help: the message says which program has it.
  app.add_flag_callback(
         "--visualize_pipline,--visualize-pipeline",
         [] {
           throw Error(
               "--visualize-pipeline belongs to pipe-run, which records a run: pipe-run "
               "--visualize-pipeline -- PROGRAM; give pipe-trace the folder of its logs");
         })
      ->group("");
  app.add_flag("--json", options.json, "Print the summary as JSON");
  addFollow(app, options);
  adviseOnFormats(app);
  addPaddleOptions(app, options);
  app.callback([&app, &options] {
    if (options.follow && options.load.align != AlignBy::kNone && app.count("--align") > 0) {
      throw CLI::ValidationError("--follow",
                                 "writes times as logged, since later readings of the clocks would "
                                 "move what is written already: leave --align out");
    }
    adviseOnCommands(options.load.inputs);
  });
}

}  // namespace pipetrace
