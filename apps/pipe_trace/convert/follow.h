#pragma once

#include "apps/pipe_trace/convert/options.h"

namespace pipetrace {

class TraceReaders;

/// `pipe-trace --follow`: writes a Chrome JSON that grows with the logs, until every rank has
/// closed its log, or SIGINT or SIGTERM comes. Returns the exit code, 0 or 1; throws Error for 2.
int runFollow(const ConvertOptions& options, const TraceReaders& readers);

}  // namespace pipetrace
