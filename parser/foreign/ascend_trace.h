#pragma once

#include "parser/foreign/foreign_trace.h"

namespace pipetrace {

/// Whether it is a trace_view.json of Ascend's profilers (torch_npu, MindSpore, msprof): one of its
/// processes is called "Ascend Hardware", or two have other names of that program.
bool isAscendTrace(const ForeignTrace& trace);

/// Such a file holds one rank: its processes and threads become lanes of that rank.
void placeAscendTrace(ForeignTrace& trace);

}  // namespace pipetrace
