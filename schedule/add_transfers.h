#pragma once

#include "schedule/check/checked_plan.h"

namespace pipetrace {

struct AddTransfersOptions {
  /// As many receives ahead as the plan has credits, so that no message comes before its receive;
  /// one where it has none.
  static constexpr int kAsCredits = -1;

  /// The number of receives of a channel (one rank to one other) that are posted ahead of their
  /// use. With 0 each is posted right before the action that needs its message. That is about
  /// memory of the receiver only: Plan::credits are what holds a sender back.
  int ahead = kAsCredits;
};

/// The full plan of a compute-only plan (rules: check.h), with its credits. A message from one rank
/// to another is sent right after the action that makes it; a fused pair sends the activations
/// first. Its receive is posted as soon as fewer than `ahead` receives of its channel are posted
/// whose messages are not used yet. It is posted right before the action that needs it at the
/// latest, and in the order in which the messages are sent. Recomputes right before that action
/// stand between the two, so that they run while the message is on its way. A message that
/// overtakes others in its use is posted further ahead. A result that stays on its rank is handed
/// over without a message.
///
/// The result has no other deadlock than the plan itself under unbounded buffers, and with free
/// transfers takes as long. A forward-only plan with as many receives ahead as it has credits takes
/// as long with any transfer time. Throws Error for a plan with transfers, and for less than 0
/// ahead.
Plan addTransfers(const CheckedPlan& plan, const AddTransfersOptions& options = {});

/// addTransfers() for the check itself: `plan` has no transfers and runs with unbounded buffers,
/// and `ahead` is 0 or more.
Plan withTransfers(const Plan& plan, int ahead);

/// How many messages move between ranks in a step of a plan that has messages.
int messagesBetweenRanks(const Plan& plan);

/// The plan without sends and receives.
Plan withoutTransfers(Plan plan);

}  // namespace pipetrace
