#pragma once

#include "parser/trace_reader.h"

namespace pipetrace {

/// One reader of each format that this build knows.
TraceReaders makeTraceReaders();

}  // namespace pipetrace
