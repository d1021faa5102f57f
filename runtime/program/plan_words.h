#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/control/control_channel.h"
#include "runtime/program/rank_program.h"
#include "schedule/check/checked_plan.h"
#include "trace/phase.h"

namespace pipetrace {

/// Says what a rank waits for, in AwaitedMessage::number.
enum class Awaited : std::uint8_t {
  kMessage,          ///< of a receive; an index of RankProgram::transfers
  kCredit,           ///< an acknowledgement of a send; the same
  kReceipt,          ///< that the peer takes the messages of a send; the same
  kSums,             ///< the gradients of a stage's copy; the number of the stage
  kTurn,             ///< of a receive: what comes before it on the lines of its ends; as kMessage
  kRows,             ///< the number of rows of the step's batch
  kScalarAllReduce,  ///< the others, before the optimizer's step
  kLosses,           ///< the losses of the last stage's other ranks
  kRanks,            ///< what another rank says between two steps
};

/// The number by which the control channel knows an item of a rank's program: 0 is lr, then come
/// RankProgram::items, then the optimizer. It holds every step, and 2^31 - 1 items.
std::int64_t numberOfItem(int step, std::size_t item);
/// The number of the job that waits for a step's data, before lr.
std::int64_t numberOfData(int step);
/// The number of what a rank waits for, in the step of the item in which it waits. It holds every
/// index.
std::uint64_t numberOfAwaited(Awaited kind, int index);

/// Says where ranks are and what they wait for, in the words of the plan that all of them run with
/// that `ahead` (ExecutorOptions) and work. Another phase than training is named.
PlanWords wordsOf(const CheckedPlan& plan, int ahead, const WorkFlow& flow = {},
                  Phase phase = Phase::kTraining);

}  // namespace pipetrace
