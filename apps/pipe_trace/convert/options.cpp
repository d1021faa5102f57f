#include "apps/pipe_trace/convert/options.h"

#include <filesystem>

#include "apps/cli/command_app.h"
#include "apps/cli/common_commands.h"
#include "apps/cli/profile_format.h"
#include "apps/cli/program.h"
#include "apps/cli/selection_options.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

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
void adviseOnCommands(const std::vector<std::string>& inputs, const Program& program) {
  for (const std::string& input : inputs) {
    std::error_code error;
    if (std::filesystem::exists(input, error) || input.find_first_of("./") != input.npos) continue;
    if (program.find(input) != nullptr) {
      throw Error("there is no file " + input +
                  "; if the command is meant, it comes first: pipe-trace " + input + " ...");
    }
  }
  if (!inputs.empty()) refuseMistypedCommand(program, inputs.front());
}

/// Its options lift the need of an INPUT. Call it after all other options are declared: it excludes
/// those that convert a run.
void addPaddleOptions(CommandApp& app, ConvertOptions& options) {
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
  CLI::Option* const style =
      declare(app.add_option("--paddle-style", options.paddleStyle,
                             "2023: as its first published version (default: as 3.3.1)"));
  app.offer(style, {"2023"});
  style->type_name("YEAR")->check(CLI::IsMember({"2023"}).description(""))->needs(devices);
  for (CLI::Option* const other : others) devices->excludes(other);
}

/// Following excludes the options that need the whole run, or all readings of the clocks.
void addFollow(CLI::App& app, ConvertOptions& options) {
  CLI::Option* const follow = app.add_flag(
      "--follow", options.follow,
      "Follow job logs that still grow: NAME.json gets each step once every rank has finished it "
      "and can be opened at any time; ends with the run, or at Ctrl-C. Times are as logged "
      "(--align none), since later readings of the clocks would move what is written already");
  for (const char* name :
       {"--json", "--force", "--run", "--pp", "--dp", "--vpp", "--tp", "--absolute-time",
        "--csv-safe", "--pattern", "--time-unit", "--kinds", "--pipeline-logger"}) {
    if (CLI::Option* const other = app.get_option_no_throw(name)) follow->excludes(other);
  }
}

}  // namespace

void addConvertOptions(CommandApp& app, ConvertOptions& options, const Program& program) {
  app.description(
      "Reads the job logs of a pipeline-parallel run, sums it up, and writes profiles that\n"
      "chrome://tracing, Perfetto and pipe-view open.\n\n"
      "Other commands (each has its own --help; a folder of that name is read as ./plan):\n" +
      program.commandList());
  app.describeEnd(exitCodesOfReading(), {"pipe-trace logs -o profile.json"});
  addVersion(app);

  addLoadRunOptions(app, options.load);
  addProfileOutputs(app, options.profiles, options.load);
  // Not in the help: the message says which program has it.
  app.add_flag_callback(
         "--visualize_pipline,--visualize-pipeline",
         [] {
           throw Error(
               "--visualize-pipeline belongs to pipe-run, which records a run: pipe-run "
               "--visualize-pipeline -- PROGRAM; give pipe-trace the folder of its logs");
         })
      ->group("");
  app.add_flag("--json", options.profiles.json, "Print the summary as JSON");
  addForce(app, options.force);
  addFollow(app, options);
  adviseOnFormats(app);
  addPaddleOptions(app, options);
  app.callback([&app, &options, &program] {
    if (options.follow && options.load.align != AlignBy::kNone && app.count("--align") > 0) {
      throw CLI::ValidationError("--follow",
                                 "writes times as logged, since later readings of the clocks would "
                                 "move what is written already: leave --align out");
    }
    adviseOnCommands(options.load.inputs, program);
  });
}

}  // namespace pipetrace
