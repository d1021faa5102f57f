#include <functional>

#include "apps/cli/common_commands.h"
#include "apps/cli/program.h"
#include "apps/pipe_trace/advise/advise.h"
#include "apps/pipe_trace/align.h"
#include "apps/pipe_trace/convert/convert.h"
#include "apps/pipe_trace/diff.h"
#include "apps/pipe_trace/info.h"
#include "apps/pipe_trace/open/open.h"
#include "apps/pipe_trace/plan/plan.h"
#include "apps/pipe_trace/report.h"
#include "apps/pipe_trace/show.h"
#include "apps/pipe_trace/what_if/what_if.h"
#include "parser/reader_registry.h"
#include "trace/files/unfinished_files.h"

namespace pipetrace {

/// pipe-trace: without a command it reads INPUT.
const Program& pipeTrace();

namespace {

void describeReading(CommandApp& app) { describeConvert(app, pipeTrace()); }

int readInputs(int argc, char** argv) {
  return convertCommand(argc, argv, pipeTrace(), makeTraceReaders());
}

/// A command that reads runs, of any format.
std::function<int(int, char**)> reading(int (*command)(int, char**, const TraceReaders&)) {
  return [command](int argc, char** argv) { return command(argc, argv, makeTraceReaders()); };
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
               reading(adviseCommand)},
              {"align", "puts the clocks of several hosts right, and says how", describeAlign,
               reading(alignCommand)},
              {"diff", "says how much slower a run is than another one, and why", describeDiff,
               reading(diffCommand)},
              {"info", "lists what is in logs and profiles", describeInfo, reading(infoCommand)},
              {"open", "shows a profile in Perfetto's UI", describeOpen, openCommand},
              {"plan", "builds or reads a schedule, checks, simulates and draws it", describePlan,
               planCommand},
              {"report", "explains why ranks were idle", describeReport, reading(reportCommand)},
              {"show", "draws a step of a run in characters", describeShow, reading(showCommand)},
              {"what-if", "says how long a step would take with changes", describeWhatIf,
               reading(whatIfCommand)},
          },
      .insteadOf = {{"summary", "pipe-trace LOGS prints the summary"},
                    {"convert", "pipe-trace LOGS -o NAME.json converts"}},
      .firstMayBe = {}};
  addCommonCommands(program, pipeTrace);
  return program;
}

}  // namespace

const Program& pipeTrace() {
  static const Program program = makeProgram();
  return program;
}

}  // namespace pipetrace

int main(int argc, char** argv) {
  pipetrace::removeUnfinishedFilesOnSignals();
  return pipetrace::runProgram(pipetrace::pipeTrace(), argc, argv);
}
