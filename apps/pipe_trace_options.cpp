#include "apps/pipe_trace_options.h"

#include <CLI/CLI.hpp>

#include "apps/command_line.h"
#include "apps/pipe_trace_commands.h"

namespace pipetrace {

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
      ->type_name("")
      ->required();
  app.add_option("-o,--output", options.outputs,
                 "Profile to write: NAME.json (Chrome Trace Event JSON), or - for standard output; "
                 "may be given several times")
      ->type_name("FILE")
      ->transform([](const std::string& name) { return name == "/dev/stdout" ? "-" : name; })
      ->allow_extra_args(false);
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
}

}  // namespace pipetrace
