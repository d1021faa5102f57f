#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/action.h"
#include "schedule/plan.h"

namespace pipetrace {

/// Where a backward of `size` is cut into `parts`: how much of it has run when the first `done`
/// parts have. So parts differ by at most one, and add up to the whole.
constexpr std::int64_t cutOfParts(std::int64_t size, int done, int parts) {
  return parts <= 0 ? size : size / parts * done + size % parts * done / parts;
}

/// Blocks of a stage, by their numbers in it: those from `first` to before `end`.
struct BlocksOfPart {
  int first = 0;
  int end = 0;
};

/// The blocks of a stage that a part of its backward runs. A backward begins with the last block,
/// so part 0 has the last ones.
constexpr BlocksOfPart blocksOfPart(int blocks, int part, int parts) {
  return {.first = blocks - static_cast<int>(cutOfParts(blocks, part + 1, parts)),
          .end = blocks - static_cast<int>(cutOfParts(blocks, part, parts))};
}

/// The plan with Action::parts of each part: one more than the largest number of a part of the same
/// backward or weight half.
Plan withPartCounts(Plan plan);

/// The plan with the last backward of each stage on each rank as that many jobs, one right behind
/// the other; where it is in halves, the weight half. So the gradients of one part can be reduced
/// under the next (withReductions()). The message to the stage before leaves with the last part.
/// Those that are in parts already stay, and so does a backward in a fused pair. 1 changes nothing.
///
/// Source: the chunks of a backward in PaddlePaddle's Pipeline1F1BPass with
/// enable_backward_forward_overlap, which overlap other collectives.
///
/// Throws Error for less than one part, and as requireLastBackwards().
Plan withLastBackwardParts(Plan plan, int parts);
/// The same with a number by stage; stages beyond its end stay whole.
Plan withLastBackwardParts(Plan plan, const std::vector<int>& partsOfStage);

/// Throws Error where no backward is the last of a step: in a plan without a flush, and a
/// forward-only one. `who` asks for it: "--last-backward-parts".
void requireLastBackwards(const Plan& plan, const std::string& who);

}  // namespace pipetrace
