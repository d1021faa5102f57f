#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/what_if/what_if.h"
#include "apps/pipe_trace/inputs/blocks_options.h"
#include "apps/pipe_trace/inputs/load_run_options.h"
#include "apps/pipe_trace/outputs/profile_outputs.h"

namespace pipetrace {

class CommandApp;

/// The options of `pipe-trace what-if`, as typed.
struct WhatIfOptions {
  LoadRunOptions load;
  ProfileOutputs profiles;  ///< -o; its `json` stays as it is
  std::vector<std::string> scales;
  std::vector<std::string> links;
  std::string balance;
  std::vector<std::string> ideals;
  bool noLaunch = false;
  std::string commStreams;
  std::string transfers;
  std::string schedule;
  std::string split;
  std::string stageDepths;
  int chunks = 0;
  int microBatches = 0;
  bool keepBatch = false;
  std::string partition;
  BlocksOptions blocks;
  std::optional<double> limitActivations;
  std::optional<double> tokensPerStep;
  std::string csv;
  bool json = false;

  /// Reads the files of blocks and partitions. Throws Error, which names the option.
  WhatIfQuestion question() const;
  /// The changes that are asked for, with their options: "--scale stage=2:0.8".
  std::vector<std::string> asked() const;
};

/// Declares them. `options` must outlive `app`.
void addWhatIfOptions(CommandApp& app, WhatIfOptions& options);

}  // namespace pipetrace
