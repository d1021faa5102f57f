#include "runtime/require_fits.h"

#include <string>
#include <vector>

#include "runtime/program/rank_program.h"
#include "schedule/check/check.h"
#include "schedule/check/update_meetings.h"
#include "trace/error.h"

namespace pipetrace {

void requireFits(const CheckedPlan& plan, StageWork& work, const Transport& transport, int ahead) {
  if (plan->numRanks() != transport.worldSize()) {
    throw Error("the plan " + plan->name + " is for " + std::to_string(plan->numRanks()) +
                " ranks, but " + std::to_string(transport.worldSize()) + " run");
  }
  work.accept(*plan, transport.rank());
  if (transport.commStreams() != CommStreams::kAsReached) {
    if (UpdateMeetings::exist(*plan)) {
      throw Error("the plan " + plan->name +
                  " changes the weights of stages on several ranks without a flush, and the sums "
                  "of these have no place among messages in line; take a communicator a lane, or "
                  "Gloo");
    }
    requireRunsInLine(fullPlan(plan, ahead), transport.commStreams());
  }
  if (!transport.sendsBlock()) return;
  const std::vector<Problem> stuck = checkLimits(fullPlan(plan, ahead), {.buffers = kPostedOnly});
  if (stuck.empty()) return;
  throw Error("the plan " + plan->name +
              " cannot run where each send waits for its receive: " + toText(stuck.front()));
}

}  // namespace pipetrace
