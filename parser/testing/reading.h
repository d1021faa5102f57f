#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "parser/byte_source.h"
#include "parser/runs/rank_names.h"
#include "parser/trace_reader.h"
#include "trace/diagnostic.h"

namespace pipetrace::test {

/// The result of reading some bytes.
struct Reading {
  Timeline timeline;
  ReadOutcome outcome;
  std::vector<std::string> diagnostics;

  /// The events of a lane; empty where there is no such track.
  const std::vector<Event>& events(int rank, std::string_view lane) const {
    static const std::vector<Event> kNone;
    const Track* track = timeline.findTrack(rank, lane);
    return track == nullptr ? kNone : track->events;
  }
};

/// Reads `bytes` as the file `name` with a `Reader`. The request gets the rank in the name.
template <typename Reader>
Reading readWith(const std::string& name, const std::string& bytes, ReadRequest request) {
  Reading result;
  ByteSource source(name, bytes);
  Diagnostics diagnostics;
  if (!request.nameRank) request.nameRank = rankInName(name);
  result.outcome = Reader().read(source, request, result.timeline, diagnostics);
  result.timeline.sort();
  for (const Diagnostic& d : diagnostics.list()) result.diagnostics.push_back(toText(d));
  return result;
}

}  // namespace pipetrace::test
