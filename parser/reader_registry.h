#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "parser/trace_reader.h"

namespace pipetrace {

/// One reader of each format that this build knows.
std::vector<std::unique_ptr<TraceReader>> makeTraceReaders();

/// The reader that is surest of `head`, the first of equals; null when none accepts it.
const TraceReader* chooseReader(const std::vector<std::unique_ptr<TraceReader>>& readers,
                                std::string_view head);

}  // namespace pipetrace
