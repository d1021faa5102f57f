#pragma once

#include "schedule/plan.h"

namespace pipetrace {

/// Finds out from the actions alone which rank runs each stage, and sets the placement, for one
/// replica. All stages and micro-batches of the actions are in range.
/// A negative stage marks an action that does not count.
///
/// One direction: a stage belongs to the rank that has most actions of it (the first of these; -1:
/// no rank has any). Two directions, where there are as many stages as ranks: the micro-batches
/// from Placement::run on run where the mirrored stages of the others run. The reading that leaves
/// fewer actions on a wrong rank counts; if both leave as many, the first does. So actions that
/// stand on a wrong rank by mistake stay mistakes.
void inferPlacement(Plan& plan);

}  // namespace pipetrace
