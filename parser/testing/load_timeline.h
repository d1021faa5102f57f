#pragma once

#include <string>
#include <vector>

#include "parser/load_timeline.h"
#include "parser/reader_registry.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace::test {

/// loadTimeline() with the readers of all formats.
inline Timeline loadTimeline(const std::vector<std::string>& inputs, const LoadOptions& options,
                             Diagnostics& diagnostics, std::vector<LoadedFile>* files = nullptr) {
  return pipetrace::loadTimeline(inputs, makeTraceReaders(), options, diagnostics, files);
}

}  // namespace pipetrace::test
