#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "parser/trace_reader.h"

namespace pipetrace {

/// The readers of the formats that inputs may have. A program has them all (makeTraceReaders()),
/// and hands them to what reads its inputs.
class TraceReaders {
 public:
  explicit TraceReaders(std::vector<std::unique_ptr<TraceReader>> readers)
      : readers_(std::move(readers)) {}

  /// The one that is surest of `head` (TraceReader::probe()), the first of equals; null when none
  /// accepts it.
  const TraceReader* choose(std::string_view head) const;

 private:
  std::vector<std::unique_ptr<TraceReader>> readers_;
};

}  // namespace pipetrace
