#pragma once

#include <string>
#include <vector>

namespace pipetrace {

/// The maps of the drivers' `config_file`: which modules a stage has, which ranks it is on, and
/// with how many forwards it warms up.
struct StageMaps {
  /// By module, ascending. As in PipeDream's generated models the last module is the loss.
  std::vector<int> moduleToStage;
  std::vector<std::vector<int>> stageRanks;  ///< by stage; each rank once
  std::vector<int> stageDepths;              ///< by stage; empty: as usual

  int numStages() const { return static_cast<int>(stageRanks.size()); }
  int numRanks() const;
  /// Whether stage s is on rank s alone.
  bool isPlain() const;
  /// How many modules each stage has, without the loss.
  std::vector<int> modulesOfStages() const;
};

/// Reads {"module_to_stage_map": [0, 1, 1], "stage_to_rank_map": {"0": [0, 1], "1": [2]},
/// "stage_to_depth_map": {"0": 1, "1": 0}}; only the first must be there. Throws Error as
/// "FILE:LINE: what is wrong" for a stage or a rank that is left out, and for a rank on two stages.
StageMaps readStageMaps(const std::string& path);

}  // namespace pipetrace
