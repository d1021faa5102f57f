#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/train/optimize/loss_scale.h"
#include "runtime/train/optimize/precision.h"
#include "runtime/train/optimize/weight_stash.h"
#include "schedule/builders/schedules.h"
#include "schedule/check/checked_plan.h"
#include "schedule/options/schedule_options.h"
#include "schedule/partition/partition_file.h"

namespace pipetrace {

/// How a model is trained on the ranks of a run.
struct Strategy {
  ScheduleOptions plan;       ///< without a schedule 1F1B, without sizes one rank or micro-batch
  Partition partition;        ///< empty: as equal numbers of blocks as possible
  std::string partitionFile;  ///< in place of `partition` (partitionOption())
  double recomputeRatio = 0;  ///< of each stage's blocks, where the partition has no ratios

  Precision precision = Precision::kFp32;
  std::optional<LossScale> lossScale;  ///< empty: the usual (lossScaleOf())
  double clipNorm = 0;                 ///< gradients are clipped to that norm; 0: they are not
  StashUpdate stashUpdate = StashUpdate::kNewest;
  bool overlaps = true;  ///< messages move while a rank computes (PaddlePaddle's
                         ///< enable_send_recv_overlap)
};

/// Sets a field of the strategy by its name in configuration files, and by those of PaddlePaddle's
/// Strategy: `schedule_mode`, `accumulate_steps`, `enable_send_recv_overlap`, `gradient_scale`,
/// `auto_mode`. Throws Error for a name that there is not, with those that there are, and for a
/// value that means nothing or cannot be had.
void setOption(Strategy& strategy, std::string_view name, std::string_view value);

/// The names that setOption() knows, ascending.
std::vector<std::string> strategyOptions();

/// "1024" or "dynamic". Throws Error for another text.
LossScale lossScaleIn(std::string_view text);

/// As the strategy says. Without it kUsualLossScale with fp16, and 1 otherwise. Throws Error for a
/// scale without fp16.
LossScale lossScaleOf(const Strategy& strategy);

/// Between 8 and 32768, as in Micikevicius et al., "Mixed Precision Training", 2018.
inline constexpr double kUsualLossScale = 1024;

}  // namespace pipetrace
