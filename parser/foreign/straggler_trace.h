#pragma once

#include "parser/foreign/foreign_trace.h"

namespace pipetrace {

/// Whether it is a timeline of ByteDance's straggler study ("Understanding Stragglers in Large
/// Model Training Using What-if Analysis"): its lanes are called "PP rank 0, TP rank 0, compute".
bool isStragglerTrace(const ForeignTrace& trace);

/// Processes are data-parallel ranks, and lanes name the pipeline stage. The lanes of a rank have
/// the five tids from five times its number on. Sends and receives name no micro-batch. Where ranks
/// have one chunk, they get that of the compute job with the same running number in their step.
void placeStragglerTrace(ForeignTrace& trace);

}  // namespace pipetrace
