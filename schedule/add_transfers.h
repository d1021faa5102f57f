#pragma once

#include "schedule/schedule.h"

namespace pipetrace {

struct AddTransfersOptions {
  /// So many receives of a channel (one rank to one other) may be posted ahead of their use; 0:
  /// each is posted right before the action that needs its message.
  int credits = 1;
};

/// The full plan of a compute-only plan (rules: check.h): what goes from one rank to another is
/// sent right after the action that makes it, of a fused pair first the activations. Its receive is
/// posted as soon as fewer than `credits` receives of its channel are posted whose messages are not
/// used yet, at the latest right before the action that needs it, and in the order in which the
/// messages are sent; a message that overtakes others in its use takes more credits than there are.
/// What stays on its rank is handed over without a message.
///
/// The result has no other deadlock than the plan itself under unbounded buffers, and with free
/// transfers takes as long. Throws Error for a plan with errors (check()) or with transfers, and
/// for negative credits.
Schedule addTransfers(const Schedule& schedule, const AddTransfersOptions& options = {});

}  // namespace pipetrace
