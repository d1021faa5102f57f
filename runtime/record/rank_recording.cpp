#include "runtime/record/rank_recording.h"

#include <cstdio>
#include <utility>

#include "profiler/clock/clock_comparison.h"
#include "profiler/clock/wall_clock.h"
#include "profiler/nccl/recording.h"
#include "runtime/record/cpu_memory.h"
#include "runtime/record/cuda_track.h"
#include "runtime/record/device_streams.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

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
