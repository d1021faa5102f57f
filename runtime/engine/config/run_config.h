#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/config/stage_maps.h"
#include "runtime/starting_ranks/hosts/host_list.h"

namespace pipetrace {

/// An option of the program, as a configuration file gives it, in the words of command lines.
struct ConfigOption {
  std::string name;                 ///< "micro_batches", for --micro-batches
  std::vector<std::string> values;  ///< one, or those of a list; of a flag "true" or "false"
  std::string key;                  ///< that stands in the file: "batch_size"
  int line = 0;                     ///< of the key
  /// A program without the option goes without: it follows from a key of the drivers.
  bool isOptional = false;
};

/// A run as a configuration file describes it: what PipeDream's and VPipe's drivers read, and the
/// options of the program. A plain value.
struct RunConfig {
  std::string file;    ///< absolute
  std::string module;  ///< the program's variant of its model; may be empty
  /// Names the program: a path, or a sample. The drivers' folder of the model; model_type where
  /// the file has none.
  std::string directory;
  int directoryLine = 0;
  std::string modelType;  ///< names the program where `directory` is but a folder; may be empty
  std::string folder;  ///< where relative paths begin, before the file's own folder; may be empty
  std::string container;
  int containerLine = 0;
  std::string logDirectory;        ///< absolute; each run has a folder there
  std::vector<RankHost> machines;  ///< by rank; empty: all on this one
  int machinesLine = 0;
  std::string masterAddress;  ///< empty: one of the first machine
  int masterAddressLine = 0;
  int masterPort = 0;  ///< 0: a free one
  int masterPortLine = 0;
  std::string backend;          ///< gloo or nccl; empty: gloo
  bool isAsynchronous = false;  ///< sync_mode: asp
  std::optional<StageMaps> maps;
  std::string mapsFile;  ///< absolute; empty: there are no maps
  std::vector<ConfigOption> options;
  std::optional<int> epochs;
  std::optional<int> stepsOfEpoch;  ///< none: as many as the program usually runs
  bool warmsUpFiveEpochs = false;   ///< lr_warmup: true, as PipeDream's runtime has it
  bool savesEpochs = false;         ///< checkpoint_dir: a checkpoint after each epoch
  std::vector<std::string> notes;   ///< for people: keys that have no effect, and why

  const ConfigOption* find(const std::string& name) const;
  /// "FILE:LINE" of the option's key; empty for none.
  std::string placeOf(const std::string& name) const;
};

/// Reads the file. Relative paths in it begin in `directory`, if that is a folder and has them,
/// else in the file's own. Whether the program has the options is for the program to say. Throws
/// Error as "FILE:LINE: what is wrong, and what to write instead".
RunConfig readRunConfig(const std::string& path);

}  // namespace pipetrace
