#pragma once

#include "runtime/record/recorded_streams.h"

namespace pipetrace {

/// Runs `body` as a job of the compute lane. A body that throws ends its job as well.
template <typename Body>
void recordJob(const RecordedStreams& streams, const Job& job, const Body& body) {
  if (streams.recorder == nullptr) {
    body();
    return;
  }
  const auto end = [&] {
    if (streams.track != nullptr) streams.track->end();
    streams.recorder->end(streams.compute);
  };
  streams.recorder->begin(streams.compute, job);
  if (streams.track != nullptr) streams.track->begin(job);
  try {
    body();
  } catch (...) {
    end();
    throw;
  }
  end();
}

}  // namespace pipetrace
