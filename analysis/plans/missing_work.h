#pragma once

#include <string>

namespace pipetrace {

struct MeasuredPlan;

/// What is wrong with the work of a measured plan, as one sentence: passes that are not there, that
/// stand twice, or a backward pass before its forward pass. Empty if every stage of a rank with a
/// log has each of its passes once. Linear in the plan.
std::string missingWork(const MeasuredPlan& measured);

}  // namespace pipetrace
