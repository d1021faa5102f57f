#pragma once

#include <algorithm>
#include <cstdint>

#include "profiler/job.h"
#include "profiler/recorder.h"
#include "runtime/device/rank_device.h"
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

/// An `all_reduce` that has ended, with marks of the lane of reductions. `job.action` has its
/// members, "0 4".
struct RecordedCollective {
  Job job;
  DeviceStream::Mark begin = 0;
  DeviceStream::Mark end = 0;
  std::int64_t bytes = kNotGiven;
};

/// A mark of now; with a device, of when it is through with what it was given. 0: nothing is
/// recorded.
inline DeviceStream::Mark markOf(const RecordedStreams& recorded, const RankDevice* device) {
  if (!recorded.isOn()) return 0;
  if (device == nullptr) return recorded.recorder->mark(recorded.reductions);
  DeviceStream& stream = recorded.recorder->stream(recorded.reductions);
  stream.markStart();
  return stream.mark();
}

/// The mark of a planned time, on an emulated device.
inline DeviceStream::Mark plannedMarkOf(const RecordedStreams& recorded, Nanoseconds planned) {
  return recorded.isOn() ? static_cast<DeviceStream::Mark>(planned) : 0;
}

inline void recordCollective(const RecordedStreams& recorded,
                             const RecordedCollective& collective) {
  if (!recorded.isOn()) return;
  recorded.recorder->begin(recorded.reductions, collective.job);
  recorded.recorder->beganAt(recorded.reductions, collective.begin);
  recorded.recorder->endAt(recorded.reductions, std::max(collective.begin, collective.end),
                           collective.bytes);
}

}  // namespace pipetrace
