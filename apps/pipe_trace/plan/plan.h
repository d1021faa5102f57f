#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/pipe_trace/inputs/load_and_report.h"

namespace pipetrace {

class CommandApp;

/// `pipe-trace plan`: builds or reads a plan, checks, simulates and draws it. argv[0] is passed
/// over. Returns the exit code; throws Error for 2.
int planCommand(int argc, char** argv);

/// Declares the arguments of the command, for help texts and completions.
void describePlan(CommandApp& app);

/// The forms of an answer about a plan.
enum class PlanForm : std::uint8_t {
  kAsAsked,  ///< what the options make the command print
  kPicture,  ///< the chart of the simulated plan, an SVG file
};

struct PlanAnswer {
  bool isPicture = false;
  std::string text{};
  /// What the command says on standard error: limits that the plan exceeds, and a deadlock.
  std::vector<std::string> remarks{};
};

/// The same without a command line. `words`: the command's. `run`: the run of --costs-from, which
/// is then not among them; null: none. Throws Error as the command does.
PlanAnswer planAnswer(std::vector<std::string> words, const LoadedRun* run, PlanForm form);

}  // namespace pipetrace
