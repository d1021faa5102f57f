#pragma once

#include "profiler/recorder.h"
#include "runtime/record/job_track.h"

namespace pipetrace {

/// The streams of a recorder that an executor writes to. `recorder` null: nothing is recorded. The
/// send lane's stream is not asynchronous. Its marks are CLOCK_MONOTONIC, in ns, for work that
/// runsBehind().
struct RecordedLanes {
  Recorder* recorder = nullptr;
  StreamId compute = 0;
  StreamId send = 0;
  StreamId recv = 0;
  JobTrack* track = nullptr;  ///< gets the compute jobs, too; null: there is none
};

/// Adds the three lanes with the host's clock as their stream: for stages that compute on the CPU.
RecordedLanes addCpuLanes(Recorder& recorder);

}  // namespace pipetrace
