#include "apps/pipe_trace/commands.h"

#include "apps/cli/command_app.h"
#include "apps/cli/command_line.h"
#include "apps/cli/common_commands.h"
#include "apps/pipe_trace/advise/advise.h"
#include "apps/pipe_trace/align.h"
#include "apps/pipe_trace/diff.h"
#include "apps/pipe_trace/info.h"
#include "apps/pipe_trace/open/open.h"
#include "apps/pipe_trace/options.h"
#include "apps/pipe_trace/plan/plan.h"
#include "apps/pipe_trace/report.h"
#include "apps/pipe_trace/run.h"
#include "apps/pipe_trace/show.h"
#include "apps/pipe_trace/what_if/what_if.h"
#include "parser/foreign/names/name_preset.h"

namespace pipetrace {
namespace {

/// Completions offer for `open` the files that Perfetto's UI shows, and for --kinds the presets
/// beside files. Other words are those that the help of an option explains.
void addWords(std::vector<FlagTable>& tables) {
  for (FlagTable& table : tables) {
    for (Flag& flag : table.flags) {
      if (table.command == "open" && flag.isPositional) {
        flag.endings = {"json", "json.gz", "pftrace"};
      }
      const std::string& name = flag.names.front();
      if (name == "--balance") flag.words = {"stages"};
      if (name == "--buffers") flag.words = {"unbounded", "blocking"};
      if (name == "--paddle-style") flag.words = {"2023"};
      if (name == "--kinds") flag.words = namePresets();
    }
  }
}

void describeReading(CommandApp& app) {
  static PipeTraceOptions options;
  addPipeTraceOptions(app, options);
}

int readInputs(int argc, char** argv) {
  PipeTraceOptions options;
  CommandApp app("pipe-trace");
  addPipeTraceOptions(app, options);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;
  return runPipeTrace(options);
}

Program makeProgram() {
  Program program{
      .name = "pipe-trace",
      .summary = "profiles and plans of pipeline-parallel training",
      .describe = describeReading,
      .run = readInputs,
      .commands =
          {
              {"advise", "says what to change in a run, and what it brings", describeAdvise,
               adviseCommand},
              {"align", "puts the clocks of several hosts right, and says how", describeAlign,
               alignCommand},
              {"diff", "says how much slower a run is than another one, and why", describeDiff,
               diffCommand},
              {"info", "lists what is in logs and profiles", describeInfo, infoCommand},
              {"open", "shows a profile in Perfetto's UI", describeOpen, openCommand},
              {"plan", "builds or reads a schedule, checks, simulates and draws it", describePlan,
               planCommand},
              {"report", "explains why ranks were idle", describeReport, reportCommand},
              {"show", "draws a step of a run in characters", describeShow, showCommand},
              {"what-if", "says how long a step would take with changes", describeWhatIf,
               whatIfCommand},
          },
      .insteadOf = {{"summary", "pipe-trace LOGS prints the summary"},
                    {"convert", "pipe-trace LOGS -o NAME.json converts"}},
      .firstMayBe = {},
      .addWords = addWords};
  addCommonCommands(program, pipeTrace);
  return program;
}

}  // namespace

const Program& pipeTrace() {
  static const Program program = makeProgram();
  return program;
}

}  // namespace pipetrace
