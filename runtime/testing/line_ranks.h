#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/control/control_channel.h"
#include "runtime/testing/line_backend.h"
#include "runtime/transport/transport.h"
#include "schedule/check/checked_plan.h"

namespace pipetrace::testing {

/// Lines for runOnLines().
enum class Lines {
  kOfRanks,  ///< one for all messages of a rank
  kOfLanes,  ///< one for each lane
};

/// The surroundings of one of runOnLines()' ranks.
struct LineRank {
  Transport& transport;
  ControlChannel* control = nullptr;
  std::function<std::int64_t()> moved;  ///< the messages that the lines of all ranks have moved
};

/// The plan with its messages in an order that runs in line.
CheckedPlan inLine(const CheckedPlan& plan);

/// runRanks() with a line for the messages of each rank, a host transport inside this process, and
/// a control channel whose failures abort both.
std::vector<std::string> runOnLines(const CheckedPlan& plan,
                                    const std::function<void(const LineRank& rank)>& body,
                                    Lines lines = Lines::kOfRanks);
/// The same with Gloo on the host, and without a control channel.
std::vector<std::string> runOnLinesOverGloo(const CheckedPlan& plan,
                                            const std::function<void(const LineRank& rank)>& body,
                                            Lines lines = Lines::kOfRanks);

}  // namespace pipetrace::testing
