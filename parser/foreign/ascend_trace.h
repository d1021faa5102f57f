#pragma once

#include "parser/foreign/foreign_trace.h"

namespace pipetrace {

/// Whether it is a trace_view.json of Ascend's profilers (torch_npu, MindSpore, msprof): one of its
/// processes is called "Ascend Hardware", or two as others of that program.
bool isAscendTrace(const ForeignTrace& trace);

/// Such a file is of one rank: processes and threads are lanes of it.
void placeAscendTrace(ForeignTrace& trace);

}  // namespace pipetrace
