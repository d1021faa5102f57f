#pragma once

#include "schedule/check/checked_plan.h"

namespace pipetrace {

struct AddTransfersOptions {
  /// The number of receives of a channel (one rank to one other) that may be posted ahead of their
  /// use. With 0 each is posted right before the action that needs its message.
  int credits = 1;
};

/// The full plan of a compute-only plan (rules: check.h). A message from one rank to another is
/// sent right after the action that makes it; a fused pair sends the activations first. Its receive
/// is posted as soon as fewer than `credits` receives of its channel are posted whose messages are
/// not used yet. It is posted right before the action that needs it at the latest, and in the order
/// in which the messages are sent. A message that overtakes others in its use takes more credits
/// than there are. A result that stays on its rank is handed over without a message.
///
/// The result has no other deadlock than the plan itself under unbounded buffers, and with free
/// transfers takes as long. Throws Error for a plan with transfers, and for negative credits.
Plan addTransfers(const CheckedPlan& plan, const AddTransfersOptions& options = {});

/// addTransfers() for the check itself: `plan` has no transfers and runs with unbounded buffers,
/// and `credits` is 0 or more.
Plan withTransfers(const Plan& plan, int credits);

}  // namespace pipetrace
