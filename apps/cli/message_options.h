#pragma once

#include <string>

#include "schedule/comm_streams.h"
#include "schedule/costs.h"
#include "schedule/plan.h"

namespace pipetrace {

class CommandApp;

/// How the messages of a plan move, as typed; empty: not given.
struct MessageOptions {
  std::string transfers;    ///< --transfers: a number, in-time or torch
  std::string commStreams;  ///< --comm-streams: a name of kCommStreams

  /// Throws Error for what is none of these.
  CommStreams lines() const;
  /// "one line of messages for each rank", for titles; empty without lines.
  std::string linesText() const;
  /// The plan with its sends and receives as these options ask for. With lines, a plan that has
  /// none gets them in torch's order, or in time where it has credits. `costs` say which message is
  /// in time before which. Throws Error for a plan that cannot run.
  Plan change(Plan plan, const Costs& costs) const;
};

/// Declares --transfers and --comm-streams in a group of the help. `to` must outlive `app`.
void addMessageOptions(CommandApp& app, MessageOptions& to, const char* group);

}  // namespace pipetrace
