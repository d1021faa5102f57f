#include "parser/trace_readers.h"

namespace pipetrace {

const TraceReader* TraceReaders::choose(std::string_view head) const {
  const TraceReader* best = nullptr;
  FormatMatch surest = FormatMatch::kNo;
  for (const auto& reader : readers_) {
    const FormatMatch match = reader->probe(head);
    if (match > surest) {
      best = reader.get();
      surest = match;
    }
  }
  return best;
}

}  // namespace pipetrace
