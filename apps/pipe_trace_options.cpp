#include "apps/pipe_trace_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "apps/command_line.h"
#include "apps/pipe_trace_commands.h"
#include "apps/profile_format.h"

namespace pipetrace {
namespace {

constexpr int kMostThreads = 4096;

/// After all others: what converts a run has no meaning beside them.
void addPaddleOptions(CLI::App& app, PipeTraceOptions& options) {
  const std::vector<CLI::Option*> others = app.get_options([](const CLI::Option* option) {
    for (const char* name : {"--help", "--version", "--strict", "--quiet"}) {
      if (option->check_name(name)) return false;
    }
    return true;
  });
  const char* const group = "PaddlePaddle's converter (writes its two files into DIR)";
  CLI::Option* const devices =
      app.add_option("--devices", options.devices, "Devices to convert, as in 0,1,2")
          ->type_name("LIST")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->check(CLI::NonNegativeNumber.description(""))
          ->group(group);
  CLI::Option* const folder =
      app.add_option("--log_dir,--log-dir", options.logFolder,
                     "Folder with workerlog.<device>, or machine<i>/workerlog.<device>")
          ->type_name("DIR")
          ->needs(devices)
          ->group(group);
  devices->needs(folder);
  app.add_flag("--multi_machine,--multi-machine", options.multiMachine,
               "The logs are in DIR/machine<i>")
      ->needs(devices)
      ->group(group);
  app.add_option("--paddle-style", options.paddleStyle,
                 "2023: as its first published version (default: as 3.3.1)")
      ->type_name("YEAR")
      ->check(CLI::IsMember({"2023"}).description(""))
      ->needs(devices)
      ->group(group);
  for (CLI::Option* const other : others) devices->excludes(other);
}

}  // namespace

Severity lowestToTell(const PipeTraceOptions& options) {
  if (!options.quiet) return Severity::kNote;
  return options.strict ? Severity::kWarning : Severity::kError;
}

void addPipeTraceOptions(CLI::App& app, PipeTraceOptions& options) {
  app.description(
      "Reads the job logs of a pipeline-parallel run, sums it up, and writes profiles that\n"
      "chrome://tracing, Perfetto and pipe-view open.\n\n"
      "Other commands (each has its own --help; a folder of that name is read as ./plan):\n" +
      commandList());
  app.footer(
      "Exit codes: 0 done; 1 done, with --strict and findings in the input; 2 could not.\n"
      "Example: pipe-trace logs -o profile.json");
  setUp(app);
  app.set_version_flag("--version", "pipe-trace " PIPETRACE_VERSION);

  app.add_option("INPUT", options.inputs,
                 "Folders with workerlog.<rank>, single logs, profiles; - is standard input")
      ->type_name("");
  app.add_option("-o,--output", options.outputs,
                 "Profile to write: " + profileFormatList() +
                     ", or - for standard output; may be given several times")
      ->type_name("FILE")
      ->transform([](const std::string& name) { return name == "/dev/stdout" ? "-" : name; })
      ->allow_extra_args(false);
  app.add_option("--format", options.format,
                 "Format of outputs whose name does not tell it, as of -: " +
                     fmt::format("{}", fmt::join(profileFormatNames(), ", ")))
      ->type_name("NAME")
      ->check(CLI::IsMember(profileFormatNames()).description(""));
  app.add_option("--threads", options.threads,
                 "How many threads may read and write (default: 0, one per core)")
      ->type_name("N")
      ->check(CLI::Range(0, kMostThreads).description(""));
  app.add_option(
         "--run", options.run,
         "Of logs that hold several runs, read this one, counted from 0 (default: the last)")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000'000).description(""));
  app.add_flag("--no-bubbles", options.noBubbles, "Write profiles without the lanes of idle time");
  app.add_flag("--no-flows", options.noFlows, "Write profiles without arrows between the jobs");
  CLI::Option* json = app.add_flag("--json", options.json, "Print the summary as JSON");
  app.add_flag("--strict", options.strict, "Exit with 1 if something is wrong in the input");
  app.add_flag("-q,--quiet", options.quiet, "Print errors only, and with --strict its findings")
      ->excludes(json);
  addPaddleOptions(app, options);
  app.callback([&options] {
    if (options.inputs.empty() && options.devices.empty()) throw CLI::RequiredError("INPUT");
  });
}

}  // namespace pipetrace
