#include "apps/pipe_trace/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/pipe_trace/info.h"
#include "apps/pipe_trace/open/open.h"
#include "apps/pipe_trace/options.h"
#include "apps/pipe_trace/plan/plan.h"
#include "apps/pipe_trace/shell_completions.h"
#include "apps/pipe_trace/show.h"
#include "schedule/build_schedule.h"

namespace pipetrace {
namespace {

constexpr PipeTraceCommand kCommands[] = {
    {"info", "says what is in logs and profiles", describeInfo, infoCommand},
    {"open", "shows a profile in Perfetto's UI", describeOpen, openCommand},
    {"plan", "builds or reads a schedule, checks, simulates and draws it", describePlan,
     planCommand},
    {"show", "draws a step of a run in characters", describeShow, showCommand},
    {"completions", "prints what makes a shell complete pipe-trace", describeCompletions,
     completionsCommand},
    {"man", "prints the manual page", describeMan, manCommand},
};

/// What Perfetto's UI shows.
void nameWhatOpens(std::vector<FlagTable>& tables) {
  for (FlagTable& table : tables) {
    if (table.command != "open") continue;
    for (Flag& flag : table.flags) {
      if (flag.isPositional) flag.endings = {"json", "json.gz", "pftrace"};
    }
  }
}

/// The help refers to --list for them; a shell completes them.
void nameSchedules(std::vector<FlagTable>& tables) {
  for (FlagTable& table : tables) {
    if (table.command != "plan") continue;
    for (Flag& flag : table.flags) {
      if (flag.names.front() == "--schedule") flag.words = scheduleNames();
    }
  }
}

}  // namespace

const PipeTraceCommand* findCommand(std::string_view name) {
  for (const PipeTraceCommand& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

std::vector<FlagTable> allFlagTables() {
  static PipeTraceOptions options;
  CLI::App main("", "pipe-trace");
  addPipeTraceOptions(main, options);
  std::vector<FlagTable> tables = {flagTableOf(main, "", "")};
  for (const PipeTraceCommand& command : kCommands) {
    CLI::App app("", "pipe-trace " + std::string(command.name));
    command.describe(app);
    tables.push_back(flagTableOf(app, std::string(command.name), std::string(command.summary)));
  }
  nameSchedules(tables);
  nameWhatOpens(tables);
  return tables;
}

std::vector<std::string> commandNames() {
  std::vector<std::string> names;
  for (const PipeTraceCommand& command : kCommands) names.emplace_back(command.name);
  return names;
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
