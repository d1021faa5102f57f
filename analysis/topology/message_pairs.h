#pragma once

#include "trace/timeline.h"

namespace pipetrace {

/// Finds the two ends of messages whose traces give them a peer and no micro-batch, as NCCL's do
/// outside of a pipeline's annotations. The n-th send of one rank to another is the n-th receive
/// there, as NCCL keeps their order. Where a trace lacks some of them, or has more, ends that
/// overlap in time belong together, as both run until the message is through.
///
/// An end gets from the other what it lacks: kind, micro-batch, step, and the stage that follows.
/// Ends that are both without a micro-batch get the same number (message_arguments::kMessage),
/// which counts from 0. Does nothing more when it is called again. Call it after the steps are
/// known.
void pairMessages(Timeline& timeline);

}  // namespace pipetrace
