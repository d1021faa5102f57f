#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "profiler/job.h"
#include "profiler/recorder.h"
#include "schedule/comm_streams.h"
#include "trace/job_kind.h"

namespace pipetrace {

/// Gets a rank's compute jobs beside the recorder: for tools that tie activity on a device to them.
/// Called on the thread that runs the jobs.
class JobTrack {
 public:
  virtual ~JobTrack() = default;
  virtual void begin(const Job& job) noexcept = 0;
  virtual void end() noexcept = 0;
};

/// The streams of a recorder that an executor writes to. `recorder` null: nothing is recorded. The
/// streams of transfers are not asynchronous, and their marks are of one clock: for work with
/// PlannedTransfers CLOCK_MONOTONIC, in ns. On a device with streams (RankDevice) they are, and
/// transfers begin and end as jobs do.
struct RecordedStreams {
  Recorder* recorder = nullptr;
  StreamId compute = 0;
  std::array<StreamId, 2> send{};  ///< of activations, of gradients
  std::array<StreamId, 2> recv{};
  CommStreams lines = CommStreams::kAsReached;
  std::map<int, StreamId> ofLine{};  ///< by lineOf(): its messages, in place of the four
  std::optional<StreamId> line;      ///< of messages that a device moves in line
  StreamId reductions = 0;           ///< of sums of gradients, and of agreements
  JobTrack* track = nullptr;         ///< gets the compute jobs, too; null: there is none
  /// The log counts steps over all plans that the ranks run in turn: the number of a plan's step
  /// plus this. Null: plus nothing.
  const int* stepsBefore = nullptr;

  bool isOn() const { return recorder != nullptr && recorder->isOn(); }
  /// The number of a plan's step in the log.
  int inLog(int step) const { return stepsBefore == nullptr ? step : step + *stepsBefore; }
  StreamId of(const Job& transfer) const {
    const bool sends = isSend(transfer.kind);
    const bool forward = isForwardTransfer(transfer.kind);
    if (!ofLine.empty()) {
      return ofLine.at(lineOf(lines, {.peer = transfer.peer, .sends = sends, .forward = forward}));
    }
    return (sends ? send : recv)[forward ? 0 : 1];
  }
};

/// Adds the compute lane and the four of transfers; `stream` makes the stream of each.
RecordedStreams addStreams(Recorder& recorder,
                           const std::function<std::unique_ptr<DeviceStream>()>& stream);

/// Adds the compute lane, and in place of the four a lane for each line of these ends.
RecordedStreams addLines(Recorder& recorder,
                         const std::function<std::unique_ptr<DeviceStream>()>& stream,
                         CommStreams lines, const std::vector<MessageEnd>& ends);

/// addStreams() with the host's clock as their streams: for stages that compute on the CPU.
RecordedStreams addCpuStreams(Recorder& recorder);

}  // namespace pipetrace
