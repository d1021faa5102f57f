#pragma once

#include "schedule/check/checked_plan.h"
#include "schedule/costs.h"

namespace pipetrace {

/// `plan` with sends and receives in the order of their times, in place of those that it has.
/// All messages have one order. It is that of their begins in the simulation in which each has a
/// line of its own (CommStreams::kMessage). Messages that begin together go by the start of the
/// action that needs the message, then by receiver, stage and micro-batch. A rank has its part of
/// that order: a send and its receive stand at the same place of it. In its row a message stands as
/// early as the order allows, after the action that makes it and before the one that needs it.
///
/// Two ranks never want to exchange the same messages in different orders, so no line can be stuck
/// for ever (CommStreams::kRank).
///
/// Throws Error for costs of fewer stages than the plan has. Takes
/// O(n log n) for n actions.
Plan withMessagesInTime(const CheckedPlan& plan, const Costs& costs);

/// `plan` with sends and receives where torch.distributed.pipelining puts them, in place of those
/// that it has. Ranks take turns, in each of which a rank adds its next action, if all that it
/// needs is in its row. Where that makes a message, the send comes right after it, and the receive
/// is added to the other rank's row at once, wherever that is.
///
/// torch's plans also have cells of data parallelism (isDataParallel()), which take turns. A plan
/// without them gets the same order as with those that torch writes for up to three stages a rank.
///
/// Source: what torch 2.11's _add_send_recv() does. Throws Error for a plan with credits.
Plan withMessagesOfTorch(const CheckedPlan& plan);

}  // namespace pipetrace
