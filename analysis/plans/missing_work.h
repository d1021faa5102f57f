#pragma once

#include <string>

namespace pipetrace {

struct MeasuredPlan;

/// One sentence about the work of a measured plan that cannot be right. It names passes that are
/// not there or stand twice, or a backward pass before its forward pass. Empty if every stage of a
/// rank with a log has each of its passes once. Linear in the plan.
std::string missingWork(const MeasuredPlan& measured);

}  // namespace pipetrace
