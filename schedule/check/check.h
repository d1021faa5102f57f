#pragma once

#include <cstdint>
#include <vector>

#include "schedule/check/checked_plan.h"
#include "schedule/check/plan_network.h"
#include "schedule/check/problem.h"
#include "schedule/costs.h"
#include "schedule/plan.h"

namespace pipetrace {

/// The limits and the size that a plan is checked against. In any case every rank has to come to
/// its end.
struct CheckOptions {
  /// Messages that a channel holds: kUnboundedBuffers, kBlocking, kPostedOnly, or 1 and more.
  int buffers = kUnboundedBuffers;
  /// The lines on which messages run.
  CommStreams commStreams = CommStreams::kAsReached;
  /// The most activations that a rank may hold at once; 0: any number.
  int mostLive = 0;
  /// The most memory that a rank may hold at once, in the units of `costs`; 0: any. The costs must
  /// be given with it and outlive the call.
  std::int64_t memoryLimit = 0;
  const Costs* costs = nullptr;
  /// The most versions of its weights that a stage of an asynchronous plan may keep; 0: any. A
  /// double-buffered plan never may keep more than two.
  int mostVersions = 0;
  /// The most updates by which a gradient may be out of date (WeightVersions); negative: any.
  int mostDistance = -1;
  /// The number of ranks and micro-batches that the plan should have; 0: any. A plan that was read
  /// from a file does not show that its last rank or micro-batch is missing.
  int ranks = 0;
  int microBatches = 0;
};

/// Everything that is wrong with a plan, all at once: the first ProblemList::kMost problems, and a
/// line that counts the rest. Empty: every rank can do its actions in order. Linear in the
/// number of actions.
/// Work that is missing, there twice or out of range; a stage on a rank that is not its own. Also a
/// backward pass before its forward, and a weight half before its input half. A forward may be run
/// again once (a recompute), after it and before its backward pass or input half. A plan without
/// any backward pass is forward-only and misses none; in others each forward has one. A plan is as
/// large as its numbers say. The last backward of a stage on a rank, or its weight half, may be in
/// parts (Action::part), which are all there and follow each other in their order. One exception: a
/// last stage or micro-batch that has hardly any work is taken for a mistake in those cells, not
/// for missing work (sizeWithoutStrays()).
///
/// Messages. A result that one rank makes and another needs is a message. A plan without sends and
/// receives leaves open when messages move. In a plan that has any (a full plan), every message
/// needs its send and its receive. "1RECV_F0", on the rank of stage 1, gets the activations of
/// micro-batch 0 that "0SEND_F0" sends from stage 0. "0RECV_B0" gets the gradient that "1SEND_B0"
/// sends back. A result that stays on its rank has neither.
/// - A send stands after the action that makes its message. When its rank comes to it, the message
///   is handed over and the rank goes on.
/// - A receive stands before the action that needs its message. When its rank comes to it, the
///   receive is posted and the rank goes on. The action that needs the message waits for it.
/// - All messages from one rank to one other are a channel, whatever their direction along the
///   stages. Its receives stand in the order of its sends, as transports match them so.
/// - Unbounded buffers: a send waits for nothing but credits, if the plan has any (Plan::credits).
///   With buffers for k messages a send waits while k
///   messages of its channel have been sent and their receives are not posted yet. Blocking: a send
///   waits until the other rank comes to the receive. A receive waits until the other rank comes to
///   the send. Posted only: a send waits until its receive is posted, and a receive for nothing.
///   Buffers are what a transport can take, of messages in both directions; credits are the plan's.
/// - With lines (CommStreams) messages wait for each other instead, and no rank waits for them in
///   its row.
/// A plan without sends and receives uses buffers and lines too. Each message is sent right after
/// the action that makes it, and received right before the one that needs it (addTransfers() with
/// none ahead).
///
/// A plan without any of these faults is checked for a deadlock, which is reported as the cycle of
/// actions that wait for each other. A plan whose work is all there once is checked for its limits,
/// each reported at the action on each rank that exceeds it first. So are weights that a
/// double-buffered plan lacks.
std::vector<Problem> check(const Plan& plan, const CheckOptions& options = {});
/// The same, with the count of all problems.
ProblemList findProblems(const Plan& plan, const CheckOptions& options = {});

/// The part of check() that a plan which can run may still fail. Does it have the ranks and
/// micro-batches that `options` ask for? Does it keep to their buffers and limits?
std::vector<Problem> checkSize(const CheckedPlan& plan, const CheckOptions& options);
std::vector<Problem> checkLimits(const CheckedPlan& plan, const CheckOptions& options);

/// Throws Error with the cycle if the messages of a plan that can run cannot run in line.
void requireRunsInLine(const CheckedPlan& plan, CommStreams commStreams);

}  // namespace pipetrace
