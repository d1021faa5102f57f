#include "apps/pipe_trace/commands.h"

#include "apps/cli/common_commands.h"
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

namespace pipetrace {
namespace {

void describeReading(CommandApp& app) { describeConvert(app, pipeTrace()); }

int readInputs(int argc, char** argv) { return convertCommand(argc, argv, pipeTrace()); }

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
