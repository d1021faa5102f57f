#pragma once

#include <memory>
#include <optional>
#include <string>

#include "profiler/clock/clock_exchange.h"
#include "profiler/cuda/api.h"
#include "profiler/switches.h"
#include "runtime/device/rank_device.h"
#include "runtime/record/recorded_streams.h"
#include "schedule/partition/block_table.h"
#include "schedule/plan.h"
#include "trace/rank_info.h"

namespace pipetrace {

/// The `Profiler Meta:` of `rank` when it runs `plan`: rank, world size, stages, chunks,
/// micro-batches, where stages are on several ranks, the schedule's name, data-parallel index,
/// device "cpu". `partition`: the blocks of the stages; empty: there are none.
RankInfo rankInfoOf(const Plan& plan, int rank, const BlockPartition& partition = {});

struct RankRecordingOptions {
  std::string logDirectory;
  RankInfo info;
  StepRange steps;
  /// Whether the rank has a process of its own, so that it can have what a process has once (NCCL's
  /// calls, a clock that is compared).
  bool isProcess = false;
  /// Where the rank's jobs are queued; null: on the CPU. Must outlive the recording.
  RankDevice* device = nullptr;
  /// Whether the transport moves messages of the device in line (Transport::commStreams()).
  bool hasLine = false;
  /// With a device: reads its clock. Null: the CUDA runtime.
  std::shared_ptr<CudaApi> cuda = nullptr;
  /// Given where the run has several hosts (GlooRun).
  std::optional<RunClock> clock = std::nullopt;
};

/// Records all there is of a rank that trains: its jobs and messages and the memory. Where each can
/// be had, it also records kernels, NVTX ranges, NCCL, and the clocks of other hosts. A part that
/// fails is left out, with one line on stderr that says why.
///
/// The rank's thread makes and destroys it.
class RankRecording {
 public:
  /// Where there are several hosts, waits for the first comparison of clocks, for
  /// ClockComparison::kPatience at most. Throws Error if the log cannot be opened.
  explicit RankRecording(RankRecordingOptions options);
  /// Calls close() and swallows its errors.
  ~RankRecording();
  RankRecording(const RankRecording&) = delete;
  RankRecording& operator=(const RankRecording&) = delete;

  RecordedStreams streams() const;
  /// Throws LogLost if the log could not be written. The training is not affected.
  void close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipetrace
