#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/engine/checkpoint_options.h"
#include "samples/config/option_places.h"
#include "schedule/options/schedule_options.h"

namespace pipetrace {

/// The options of an optimizer on a sample program's command line.
struct OptimizerOptions {
  std::string kind = "adamw";         ///< or sgd, lamb (Lamb)
  double learningRate = 0;            ///< at the top of its schedule
  std::string schedule = "constant";  ///< or linear, cosine: RateShape
  int warmup = 0;                     ///< in steps
  double finalShare = 0;              ///< of the learning rate, after the last step
  int steps = 1;                      ///< of the training
  double weightDecay = 0;             ///< of parameters of two dimensions and more
  /// Regular expressions of RE2. A parameter whose name has a match anywhere is not decayed.
  std::vector<std::string> noDecay = {};
};

enum class SampleTransport { kInProcess, kGloo, kNccl };

/// The options of a sample program's command line.
struct SampleOptions {
  std::string configFile;     ///< --config: a configuration file, whose options are among these
  bool dryRun = false;        ///< check the options, print the plan, and train nothing
  bool forwardOnly = false;   ///< evaluate on the data of the steps, and train nothing
  double recomputeRatio = 0;  ///< of each stage's blocks, where the partition has no ratios
  OptionPlaces places;        ///< of those that come from the configuration file
  ScheduleOptions plan;       ///< what it does not say is as usual (takeUsual())
  std::string partitionFile;  ///< JSON; empty: blocks are spread evenly over the stages
  std::string autoPartition;  ///< where a partition goes that is found by measuring; empty: none is
  std::string blocksOut;      ///< with it: where the measured costs of blocks go; empty: nowhere
  double limitGb = 0;         ///< for it: bytes of a rank / 1e9; 0: no limit
  std::string stashUpdate = "newest";  ///< or oldest: StashUpdate
  int steps = 1;
  std::uint64_t seed = 1;
  SampleTransport transport = SampleTransport::kInProcess;
  std::string device = "cpu";              ///< or cuda
  bool shareDevices = false;               ///< several ranks on one
  std::string precision = "fp32";          ///< or bf16, fp16: Precision
  std::string lossScale;                   ///< a number or dynamic: LossScale; empty: the usual
  double clipGradNorm = 0;                 ///< 0: gradients are not clipped
  std::string ncclCommunicators = "rank";  ///< or lane: NcclCommunicators
  bool noSendRecvOverlap = false;          ///< the reverse of GlooOptions::overlaps
  double stepTimeout = 600;                ///< seconds without the end of an action; 0: no limit
  double connectTimeout = 120;             ///< seconds for all ranks to come together
  double linkTimeout = 8;                  ///< seconds for one connection
  double silence = 0;              ///< seconds without a word of a rank; 0: the runtime's limit
  std::string logDir;              ///< --log-dir or PIPETRACE_LOG_DIR; empty: not given
  int inspectEvery = 0;            ///< steps; 0: never
  bool visualizePipeline = false;  ///< record, whatever the environment says
  bool cost = false;               ///< print what a step would take, and train nothing
  int logEvery = 1;                ///< steps between two lines
  double peakFlops = 0;            ///< of a rank, a second; 0: not given
  CheckpointOptions checkpoints;
};

}  // namespace pipetrace
