#include "apps/pipe_trace_commands.h"

#include <fmt/format.h>

#include "apps/pipe_trace_plan.h"
#include "apps/pipe_trace_show.h"

namespace pipetrace {
namespace {

constexpr PipeTraceCommand kCommands[] = {
    {"plan", "builds or reads a schedule, checks, simulates and draws it", planCommand},
    {"show", "draws a step of a run in characters", showCommand},
};

}  // namespace

const PipeTraceCommand* findCommand(std::string_view name) {
  for (const PipeTraceCommand& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

std::string commandList() {
  std::string text;
  for (const PipeTraceCommand& command : kCommands) {
    text += fmt::format("  {:<27} {}\n", fmt::format("pipe-trace {} ...", command.name),
                        command.summary);
  }
  return text;
}

}  // namespace pipetrace
