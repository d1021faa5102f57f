#include "runtime/record/rank_recording.h"

#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "profiler/clock/clock_comparison.h"
#include "profiler/clock/wall_clock.h"
#include "profiler/cuda/api.h"
#include "profiler/cuda/stream.h"
#include "profiler/nccl/recording.h"
#include "profiler/recorder.h"
#include "runtime/device/rank_device.h"
#include "runtime/record/cuda_track.h"
#include "runtime/record/recorded_streams.h"
#include "schedule/partition/partition_file.h"
#include "trace/error.h"
#include "trace/track.h"

namespace pipetrace {
namespace {

/// addStreams() for a rank whose jobs are queued on a device: the compute lane, and those of
/// transfers, are streams there. A send stands on the compute stream, where its message is made; a
/// receive on the stream that waits for it. `hasLine`: the transport moves messages in line, which
/// stand on a lane of their own.
///
/// `device` must outlive the recorder. Throws Error if `cuda` does not know the device.
RecordedStreams addDeviceStreams(Recorder& recorder, RankDevice& device,
                                 std::shared_ptr<CudaApi> cuda, bool hasLine) {
  RecordedStreams streams{.recorder = &recorder};
  if (!recorder.isOn()) return streams;
  const auto clocked = std::make_shared<CudaDevice>(std::move(cuda), device.device().index());
  const auto add = [&](std::string_view lane, const c10::Stream& stream) {
    return recorder.addStream(
        std::string(lane),
        std::make_unique<CudaStream>(clocked, static_cast<CudaApi::Stream>(stream.native_handle()),
                                     CudaStreamOptions{.clock = recorder.clock()}));
  };
  streams.compute = add(kComputeLane, device.compute());
  streams.reductions = add(kReductionLane, device.compute());
  streams.send = {add(kSendForwardLane, device.compute()),
                  add(kSendBackwardLane, device.compute())};
  streams.recv = {add(kRecvForwardLane, device.receives(true)),
                  add(kRecvBackwardLane, device.receives(false))};
  if (hasLine) streams.line = add(kLineLane, device.line());
  return streams;
}

/// Counter `cpu_memory_allocated` of a recorder: the bytes that this process's malloc has given
/// out. LibTorch's CPU allocator gets its memory there. That allocator keeps figures only for
/// LibTorch's profiler, and then warns of all memory that it did not see being allocated.
void addCpuMemory(Recorder& recorder) {
  recorder.addCounter("cpu_memory_allocated", "bytes", [] {
    const struct mallinfo2 figures = mallinfo2();
    return static_cast<double>(figures.uordblks + figures.hblkhd);  // in heaps, in mappings
  });
}

/// "NVIDIA H200 (cuda:0)".
std::string deviceText(CudaApi& cuda, c10::Device device) {
  const std::string name = cuda.deviceName(device.index());
  return name.empty() ? device.str() : name + " (" + device.str() + ")";
}

/// Reads the clock of the rank's device; null: it has none.
std::shared_ptr<CudaApi> cudaOf(const RankRecordingOptions& options) {
  if (options.device == nullptr) return nullptr;
  return options.cuda != nullptr ? options.cuda : cudaRuntime();
}

RecorderOptions recorderOptions(const RankRecordingOptions& options) {
  RecorderOptions result;
  result.logDirectory = options.logDirectory;
  result.info = options.info;
  if (const auto cuda = cudaOf(options)) {
    result.info.device = deviceText(*cuda, options.device->device());
  }
  result.steps = options.steps;
  return result;
}

}  // namespace

RankInfo rankInfoOf(const Plan& plan, int rank, const BlockPartition& partition) {
  RankInfo info;
  info.rank = rank;
  info.worldSize = plan.numRanks();
  info.device = "cpu";
  info.numStages = plan.numStages;
  info.numChunks = plan.numChunks();
  info.numMicroBatches = plan.microBatchesOfReplica();
  if (plan.placement.hasSeveralRanks()) info.ranksOfStage = toText(plan.placement.ranksOfStage);
  info.blocks = blockCountsText(partition.blocks);
  const auto recomputes = [](int count) { return count > 0; };
  if (std::any_of(partition.recomputed.begin(), partition.recomputed.end(), recomputes)) {
    info.recomputedBlocks = blockCountsText(partition.recomputed);
  }
  info.schedule = plan.name;
  info.dataParallelIndex = plan.replicaOf(rank);
  return info;
}

class RankRecording::Impl {
 public:
  explicit Impl(RankRecordingOptions options)
      : recorder_(recorderOptions(options)), streams_(addStreamsOf(options)) {
    addCpuMemory(recorder_);
    const int device = options.device != nullptr ? options.device->device().index() : -1;
    if (options.isProcess || device >= 0) {
      // Ranks of a process take devices in turn, so the lowest of a device has its number.
      const bool isLowest = options.info.rank == device;
      track_ = makeCudaTrack(recorder_, device, options.isProcess || isLowest);
      streams_.track = track_.get();
    }
    if (!options.isProcess) return;
    if (options.clock) compareClocks(std::move(*options.clock));
    nccl_.emplace(recorder_);
    if (clocks_ != nullptr) clocks_->awaitFirst();
  }

  RecordedStreams streams() const { return streams_; }

  void close() {
    clocks_.reset();
    track_.reset();
    nccl_.reset();
    recorder_.close();
    server_.reset();
  }

 private:
  RecordedStreams addStreamsOf(const RankRecordingOptions& options) {
    if (options.device == nullptr) return addCpuStreams(recorder_);
    return addDeviceStreams(recorder_, *options.device, cudaOf(options), options.hasLine);
  }

  /// Ranks of rank 0's host have its clock, and all compare nevertheless. That costs 128 messages
  /// every 30 s, and no rank needs to know where the others run.
  void compareClocks(RunClock clock) {
    const auto now = [this] { return recorder_.clock().at(monotonicNow()); };
    try {
      if (clock.listener.isOpen()) {
        server_ = std::make_unique<ClockServer>(std::move(clock.listener), clock.place.token, now);
      } else {
        clocks_ = std::make_unique<ClockComparison>(recorder_.logPath(), clock.place, now);
      }
    } catch (const Error& error) {
      std::fprintf(stderr, "pipetrace: the hosts' clocks are not compared: %s\n", error.what());
    }
  }

  Recorder recorder_;
  RecordedStreams streams_;
  std::unique_ptr<JobTrack> track_;
  std::optional<NcclRecording> nccl_;
  std::unique_ptr<ClockServer> server_;
  std::unique_ptr<ClockComparison> clocks_;
};

RankRecording::RankRecording(RankRecordingOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

RankRecording::~RankRecording() = default;

RecordedStreams RankRecording::streams() const { return impl_->streams(); }

void RankRecording::close() { impl_->close(); }

}  // namespace pipetrace
