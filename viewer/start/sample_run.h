#pragma once

#include <string>

#include "trace/timeline.h"

namespace pipetrace {

/// A simulated training run to try the viewer with: 1F1B on 4 ranks, 8 micro-batches, 6 steps.
/// Planted in it: stage 2 computes longer than the others, the link between ranks 1 and 2 is slow,
/// and in step 3 rank 1 begins one forward late. So its bubbles are of many classes. Always the
/// same.
Timeline sampleRun();

/// Writes the job logs of sampleRun() into a folder, which is made if it is missing. Throws Error
/// when that fails.
void writeSampleLogs(const std::string& folder);

}  // namespace pipetrace
