#pragma once

#include "schedule/plan.h"

namespace pipetrace {

/// Finds out from the actions alone which rank runs each stage, and sets rankOfStage,
/// rankOfStageReversed and firstReversed. All stages and micro-batches of the actions are in range,
/// or the stage is negative: an action that does not count.
///
/// One direction: a stage belongs to the rank that has most actions of it (the first of these; -1:
/// no rank has any). Two directions, where there are as many stages as ranks: the micro-batches
/// from firstReversed on run where the mirrored stages of the others run. Of both readings the one
/// that leaves fewer actions on a wrong rank counts, when equal the first, so that actions that
/// stand on a wrong rank by mistake stay mistakes.
void inferPlacement(Plan& plan);

}  // namespace pipetrace
