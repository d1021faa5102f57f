#pragma once

#include <vector>

#include "samples/sample_task.h"
#include "samples/testing/planned_fault.h"

namespace pipetrace {

/// Has one of these blocks of the task's model go wrong, in its forward or its backward, if the
/// fault is one of a stage's own code. The numbers that the model computes stay the same.
void plantFault(SampleTask& task, const PlannedFault& fault, const std::vector<int>& blocks);

}  // namespace pipetrace
