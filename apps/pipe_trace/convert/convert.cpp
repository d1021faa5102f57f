#include "apps/pipe_trace/convert/convert.h"

#include <fmt/format.h>
#include <poll.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "analysis/present/summary_report.h"
#include "apps/cli/command_app.h"
#include "apps/cli/common_commands.h"
#include "apps/cli/print.h"
#include "apps/cli/profile_format.h"
#include "apps/cli/program.h"
#include "apps/cli/selection_options.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "apps/pipe_trace/inputs/load_run_options.h"
#include "apps/pipe_trace/outputs/profile_outputs.h"
#include "ingest/output_files.h"
#include "ingest/run_follower.h"
#include "parser/chrome/write/growing_json.h"
#include "parser/paddle/paddle_profile.h"
#include "trace/error.h"
#include "trace/files/output_file.h"
#include "trace/files/output_set.h"
#include "trace/text/fit_to_print.h"

namespace pipetrace {
namespace {

/// The options of pipe-trace without a command.
struct ConvertOptions {
  LoadRunOptions load;
  ProfileOutputs profiles;
  bool follow = false;
  bool force = false;  ///< print a summary that means nothing

  // PaddlePaddle's spelling. With devices given there are no inputs and outputs.
  std::vector<int> devices;
  std::string logFolder;
  bool multiMachine = false;
  std::string paddleStyle;  ///< "2023", or empty for the current one
};

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

/// Declares the arguments of pipe-trace without a command. The help lists the commands of
/// `program`. All must outlive `app`.
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

constexpr long kBetweenLooksNs = 200'000'000;
/// Looking for new files costs more than looking for new lines.
constexpr int kLooksBetweenSearches = 5;
/// Logs of ranks that start together appear within this number of looks.
constexpr int kLooksBeforeWaiting = 7;

volatile std::sig_atomic_t stopped = 0;

extern "C" void stopFollowing(int) { stopped = 1; }

/// Lets SIGINT and SIGTERM come only during wait(), so that none is missed and nothing is
/// interrupted.
class StopSignals {
 public:
  StopSignals() {
    struct sigaction action {};
    action.sa_handler = stopFollowing;
    ::sigemptyset(&action.sa_mask);
    sigset_t both;
    ::sigemptyset(&both);
    for (const int signal : {SIGINT, SIGTERM}) {
      ::sigaddset(&both, signal);
      ::sigaction(signal, &action, nullptr);
    }
    ::sigprocmask(SIG_BLOCK, &both, &before_);
  }

  /// Waits until the next look. Returns false when a signal has come.
  bool wait() const {
    const timespec pause{.tv_sec = 0, .tv_nsec = kBetweenLooksNs};
    ::ppoll(nullptr, 0, &pause, &before_);
    return stopped == 0;
  }

 private:
  sigset_t before_{};
};

const std::string& outputOf(const ConvertOptions& options) {
  if (options.profiles.names.size() != 1) {
    throw Error("--follow writes one profile: give -o NAME.json once");
  }
  const std::string& output = options.profiles.names.front();
  if (output == "-" || formatOf(output, options.profiles) != ProfileFormat::kChromeJson) {
    throw Error("--follow cannot write " + (output == "-" ? "standard output" : output) +
                ": only Chrome JSON may end anywhere; name the output NAME.json");
  }
  return output;
}

void reportWaiting(const RunFollower& follower) {
  const std::string what = follower.waitsFor();
  if (!what.empty()) printError(fmt::format("pipe-trace: waiting for {}", what));
}

void reportOutOfSight(RunFollower& follower) {
  const std::string ranks = follower.newlyOutOfSight();
  if (ranks.empty()) return;
  printError(fmt::format(
      "pipe-trace: logs of another host ({}): this host cannot see whether they are still "
      "written; following until they are closed, or Ctrl-C",
      ranks));
}

/// `pipe-trace --follow`: writes a Chrome JSON that grows with the logs, until every rank has
/// closed its log, or SIGINT or SIGTERM comes. Returns the exit code, 0 or 1; throws Error for 2.
int runFollow(const ConvertOptions& options, const TraceReaders& readers) {
  const std::string& output = outputOf(options);
  checkOutputs(options.profiles, options.load);
  checkFollowable(options.load.inputs, readers);
  const StopSignals signals;
  GrowingChromeJson profile(output);
  RunFollower follower(options.load,
                       [&](const Timeline& steps) { profile.add(steps, options.profiles.flows); });
  bool hasFindings = false;
  const auto report = [&] {
    const Diagnostics found = follower.takeDiagnostics();
    hasFindings = hasFindings || found.hasFindings();
    printDiagnostics(found, lowestSeverity(options.load));
  };
  int looks = 0;
  do {
    if (++looks % kLooksBetweenSearches == 0) {
      follower.findNewLogs();
      follower.lookAtRecorders();
      if (looks > kLooksBeforeWaiting && !options.load.quiet) reportOutOfSight(follower);
    }
    follower.look();
    report();
    if (looks == kLooksBeforeWaiting && !options.load.quiet) reportWaiting(follower);
  } while (!follower.isOver() && signals.wait());
  follower.finish();
  report();
  if (profile.tooEarly() > 0) {
    hasFindings = true;
    Diagnostics late;
    late.add({.message = "came too late to be in the profile: more than a minute earlier than its "
                         "first step",
              .advice = "convert the logs again, without --follow",
              .count = profile.tooEarly()});
    printDiagnostics(late, lowestSeverity(options.load));
  }
  if (follower.hasNothingSelected()) {
    hasFindings = true;
    Diagnostics nothing;
    nothing.add({.message = "no event of the run was among what --steps, --ranks and --skip leave",
                 .advice = "convert the logs again, without --follow: that lists what there is"});
    printDiagnostics(nothing, lowestSeverity(options.load));
  }
  profile.close();
  if (!options.load.quiet) {
    printText(fmt::format("wrote {}: {} steps, {}\n", output, follower.stepCount(),
                          summaryText(profile.summary())));
  }
  return options.load.strict && hasFindings ? kExitFindings : 0;
}

PaddleSummary convert(const PaddleRequest& request, Severity lowest, OutputSet& files,
                      Diagnostics& diagnostics) {
  try {
    const PaddleSummary summary = writePaddleProfiles(request, files, diagnostics);
    printDiagnostics(diagnostics, lowest);
    return summary;
  } catch (...) {
    printDiagnostics(diagnostics, lowest);
    throw;
  }
}

/// Writes PaddlePaddle's two files of the logs in --log_dir. Prints the findings to standard error
/// and the files' names to standard output. Returns the exit code, 0 or 1; throws Error for 2.
int runPaddleConversion(const ConvertOptions& options) {
  Diagnostics diagnostics;
  OutputSet files;
  const PaddleSummary written =
      convert({.logFolder = options.logFolder,
               .devices = options.devices,
               .multiMachine = options.multiMachine,
               .style = options.paddleStyle.empty() ? PaddleStyle::kCurrent : PaddleStyle::k2023,
               .skippedTypes = options.load.selection.skippedTypes},
              lowestSeverity(options.load), files, diagnostics);
  if (!options.load.quiet) {
    std::string what = fmt::format("{} jobs, {} steps", written.jobs, written.steps);
    if (options.multiMachine) what += fmt::format(", {} machines", written.machines);
    files.add("-", fitToPrint(fmt::format("wrote {}: {}\nwrote {}: {}\n", written.profile, what,
                                          written.perfettoProfile, what)));
  }
  files.commit();
  return exitCodeOf(options.load, diagnostics);
}

}  // namespace

void describeConvert(CommandApp& app, const Program& program) {
  static ConvertOptions options;
  addConvertOptions(app, options, program);
}

int convertCommand(int argc, char** argv, const Program& program, const TraceReaders& readers) {
  ConvertOptions options;
  CommandApp app(program.name);
  addConvertOptions(app, options, program);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;

  if (!options.devices.empty()) return runPaddleConversion(options);
  if (options.follow) return runFollow(options, readers);
  checkOutputs(options.profiles, options.load);
  options.load.beginsWithDoubts = printsSummary(options.profiles, options.load);
  Diagnostics diagnostics;
  std::vector<LoadedFile> files;
  Run run = loadAndReport(options.load, readers, diagnostics, &files);
  checkOutputs(options.profiles.names, files);
  const int threads = options.load.reading.threads;
  return writeAndReport(
      std::move(run), options.profiles, options.load, diagnostics,
      [&](const Timeline& timeline, const RunSummary& summary, const std::vector<Doubt>& doubts) {
        return options.profiles.json ? jsonReport(timeline, summary, threads, doubts)
                                     : textReport(timeline, summary, threads, doubts);
      },
      options.force);
}

}  // namespace pipetrace
