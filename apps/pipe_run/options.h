#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pipetrace {

/// What `pipe-run rehearse` was asked to do. Times are texts in milliseconds, read digit by digit.
struct RehearseOptions {
  std::string schedule;
  std::string scheduleFile;
  std::optional<int> ranks;
  std::optional<int> microBatches;
  int chunks = 0;  ///< stages per rank; 0: what the schedule usually has
  int steps = 5;
  std::vector<std::string> costsFrom;
  std::string forwardMs;
  std::string backwardMs;
  std::string transferMs;
  std::string lrMs;
  std::string optimizerMs;
  std::string logDirectory;
  bool strict = false;
};

/// What pipe-run was asked to do.
struct PipeRunOptions {
  int ranks = 1;
  std::string logDirectory = "logs";
  int masterPort = 0;
  bool recording = false;            ///< PIPETRACE=1 for the ranks
  std::vector<std::string> command;  ///< what follows "--"
  bool isRehearsal = false;
  RehearseOptions rehearsal;
};

/// The flag table: declares every argument of pipe-run once, except the program after "--".
/// `options` must outlive `app`.
void addPipeRunOptions(CLI::App& app, PipeRunOptions& options);

/// Moves what follows the first "--" out of `arguments`; empty without one.
std::vector<std::string> takeCommand(std::vector<std::string>& arguments);

/// Of arguments without "--" that name a program nevertheless: the command line that was meant.
/// Empty if they name none.
std::string withDashes(const std::vector<std::string>& arguments);

}  // namespace pipetrace
