#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pipetrace {

/// Whether torch.distributed.pipelining's schedules annotate jobs by this name: `PP:1F3`,
/// `PP:(0F7;7B3)OVERLAP_F_B`, `Forward 3`. Names of its messages count as well.
bool isScheduleName(std::string_view name);

/// Whether it is a job of one stage: `PP:1F3`.
bool isStageJobName(std::string_view name);

/// The second job of `PP:(0F7;7B3)OVERLAP_F_B`: stage 7 and micro-batch 3.
struct SecondJob {
  std::int32_t stage = 0;
  std::int32_t microBatch = 0;
};
std::optional<SecondJob> secondJobOf(std::string_view name);

}  // namespace pipetrace
