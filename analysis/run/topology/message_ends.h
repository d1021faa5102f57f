#pragma once

#include "trace/timeline.h"

namespace pipetrace {

/// Completes the events of the lanes `send` and `recv` that a trace gives as one rank sees them.
/// The trace of a rank knows neither the rank at the other end nor when its messages arrived, so
/// all ranks have to be there.
///
/// Gives those with a stage their peers: a forward comes from the stage before and goes to the one
/// after it, a backward the other way. The ranks of a stage are those that run its jobs. Where a
/// stage has several, a rank talks to that of its pipeline (RankInfo::pipelineRanks). Where nothing
/// names it, the n-th of one stage talks to the n-th of the other.
void givePeers(Timeline& timeline);

/// Ends each send that has its host's span (`host_end`) with its receive: of the same two ranks,
/// direction, stage, micro-batch and step, in the order of posting. A send whose receive came early
/// is marked as that is. A send without a receive keeps its end. Needs peers and steps; does
/// nothing more when it is called again.
void endSendsWithReceives(Timeline& timeline);

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
