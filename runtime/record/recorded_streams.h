#pragma once

#include <array>
#include <functional>
#include <memory>

#include "profiler/recorder.h"
#include "runtime/record/job_track.h"
#include "trace/job_kind.h"

namespace pipetrace {

/// The streams of a recorder that an executor writes to. `recorder` null: nothing is recorded. The
/// streams of transfers are not asynchronous, and their marks are of one clock. For work with
/// PlannedTransfers that is CLOCK_MONOTONIC, in ns.
struct RecordedStreams {
  Recorder* recorder = nullptr;
  StreamId compute = 0;
  std::array<StreamId, 2> send{};  ///< of activations, of gradients
  std::array<StreamId, 2> recv{};
  JobTrack* track = nullptr;  ///< gets the compute jobs, too; null: there is none

  StreamId of(JobKind transfer) const {
    return (isSend(transfer) ? send : recv)[isForwardTransfer(transfer) ? 0 : 1];
  }
};

/// Adds the compute lane and the four of transfers; `stream` makes the stream of each.
RecordedStreams addStreams(Recorder& recorder,
                           const std::function<std::unique_ptr<DeviceStream>()>& stream);

/// The same with the host's clock as their streams: for stages that compute on the CPU.
RecordedStreams addCpuStreams(Recorder& recorder);

}  // namespace pipetrace
