#include "profiler/recorder.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cassert>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "profiler/log/log_thread.h"
#include "profiler/nvml/gpu_counters.h"
#include "profiler/process/in_forked_child.h"
#include "profiler/ring/recording_state.h"
#include "profiler/ring/ring_texts.h"
#include "trace/error.h"
#include "trace/files/shared_folder.h"
#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

RankInfo completed(RankInfo info, TickSource ticks) {
  if (info.host.empty()) {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) == 0) info.host = name.data();
  }
  if (info.clock.empty()) info.clock = nameOf(ticks);
  for (std::string* text : {&info.host, &info.device, &info.schedule, &info.clock}) {
    text->resize(shortText(*text).size());
  }
  return info;
}

/// Makes the folder, so that the ring file, which comes first, finds it. The path is absolute: the
/// program may change its folder before the ring file is removed.
std::string pathOfLog(const RecorderOptions& options) {
  std::filesystem::path folder = options.logDirectory.empty() ? "logs" : options.logDirectory;
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(folder, error);
  if (!error) folder = absolute;
  std::filesystem::create_directories(folder, error);  // opening the log reports it
  std::string name = std::string(log_format::kFilePrefix) + std::to_string(options.info.rank);
  if (compressesLogs()) name += log_format::kCompressedEnding;
  return folder / name;
}

/// Beside a compressed log the ring file is called as beside a plain one.
std::string pathOfRing(const RecorderOptions& options, const std::string& logPath) {
  if (!options.ringFile) return {};
  const std::size_t ending =
      logPath.ends_with(log_format::kCompressedEnding) ? log_format::kCompressedEnding.size() : 0;
  return logPath.substr(0, logPath.size() - ending);
}

/// Says so once in a process, if a log folder is given and nobody has decided whether to record.
void sayHowToSwitchOn(const RecorderOptions& options) {
  if (options.isOn.isDecided() || options.logDirectory.empty()) return;
  static std::atomic_flag said;
  if (said.test_and_set()) return;
  std::fprintf(stderr,
               "pipetrace: recording is off; set PIPETRACE=1 to record into %s, or PIPETRACE=0 to "
               "leave this line out\n",
               options.logDirectory.c_str());
}

/// Says so once in a process, and for rank 0 alone: ranks share their folder.
void sayWhoElseWrites(const RecorderOptions& options, const std::string& logPath) {
  static std::atomic_flag said;
  if (options.info.rank != 0 || said.test()) return;
  const std::string warning =
      sharedFolderWarning(std::filesystem::path(logPath).parent_path().string());
  if (warning.empty() || said.test_and_set()) return;
  std::fprintf(stderr, "pipetrace: warning: %s\n", warning.c_str());
}

}  // namespace

class Recorder::Impl {
 public:
  Impl(const RecorderOptions& options, const std::string& logPath, TickSource ticks,
       Recorder& recorder)
      : source(ticks),
        state(pathOfRing(options, logPath), Lane::roundedSlots(options.ringSlots), ticks,
              options.steps, options.clock.value_or(WallClock::read())),
        path(logPath),
        info(completed(options.info, ticks)),
        log(path, info, options.holdLimit, options.giveWay, state),
        inForkedChild([&recorder] { recorder.abandon(); }) {}

  void sayWhyNoRing() {
    if (saidWhyNoRing || state.file.whyNot().empty()) return;
    saidWhyNoRing = true;
    std::fprintf(
        stderr,
        "pipetrace: no ring file (%s): unwritten records are lost if the program is killed\n",
        state.file.whyNot().c_str());
  }

  const TickSource source;
  bool saidWhyNoRing = false;
  RecordingState state;
  const std::string path;
  const RankInfo info;
  bool watchesGpu = false;  // NVML's figures are wanted
  TextPool texts;
  LogThread log;  // after the members that it reads
  const InForkedChild inForkedChild;
};

Recorder::Recorder(RecorderOptions options) {
  if (!options.isOn) {
    sayHowToSwitchOn(options);
    return;
  }
  if (options.info.rank < 0) {
    throw Error("cannot record rank " + std::to_string(options.info.rank) + ": ranks count from 0");
  }
  if (options.info.worldSize.value_or(1) < 1) {
    throw Error("cannot record a run of " + std::to_string(*options.info.worldSize) +
                " ranks: leave RankInfo::worldSize out if it is not known");
  }
  const TickSource ticks = options.ticks.value_or(bestTickSource());
  const bool watchesGpu = samplesGpu();
  impl_ = std::make_unique<Impl>(options, pathOfLog(options), ticks, *this);
  impl_->watchesGpu = watchesGpu;
  state_ = &impl_->state;
  impl_->sayWhyNoRing();
  sayWhoElseWrites(options, impl_->path);
}

Recorder::~Recorder() = default;

void Recorder::abandon() noexcept {
  state_ = nullptr;
  // Never destroyed: its thread cannot be joined here, and its device is the parent's.
  if (Impl* const impl = impl_.release()) {
    impl->log.abandon();
    impl->state.file.abandon();
  }
}

StreamId Recorder::addStream(std::string name, std::unique_ptr<DeviceStream> stream) {
  if (!isOn()) return 0;
  name.resize(shortText(name).size());
  if (stream == nullptr) {
    throw Error("cannot record the stream \"" + name +
                "\": it is null; give the recorder one, as std::make_unique<CpuStream>()");
  }
  RecordingState& state = impl_->state;
  const int index = state.laneCount.load(std::memory_order_relaxed);
  if (index == RecordingState::kMaxLanes) {
    throw Error("cannot record the stream \"" + name + "\": a recorder has at most " +
                std::to_string(RecordingState::kMaxLanes) + " streams");
  }
  for (int i = 0; i < index; ++i) {
    if (state.laneAt(i).name() == name) {
      throw Error("the stream \"" + name + "\" is there already: give each stream its own name");
    }
  }
  GpuCounters& gpu = impl_->log.gpuCounters();
  if (impl_->watchesGpu && !gpu.isWatching()) gpu.watch(stream->gpuUuid());
  stream->useClock(state.hostClock);
  const bool isCompute = name == kComputeLane;
  auto& lane = state.lanes[static_cast<std::size_t>(index)];
  lane = std::make_unique<Lane>(Lane::Options{.name = std::move(name),
                                              .isCompute = isCompute,
                                              .slots = state.slots,
                                              .source = impl_->source},
                                std::move(stream), state.file);
  impl_->sayWhyNoRing();
  state.front.noteLane(index, lane->offsetInFile());
  if (isCompute) state.computeLane.store(lane.get(), std::memory_order_release);
  state.laneCount.store(index + 1, std::memory_order_release);
  return index;
}

DeviceStream& Recorder::stream(StreamId id) {
  assert(isOn());
  Lane* const lane = impl_->state.lane(id);
  assert(lane != nullptr);
  return lane->stream();
}

DeviceStream::Mark Recorder::mark(StreamId stream) const noexcept {
  Lane* const lane = isOn() ? impl_->state.lane(stream) : nullptr;
  return lane == nullptr ? 0 : lane->stream().mark();
}

std::int64_t Recorder::openJob() const noexcept {
  if (!isOn()) return kNotGiven;
  const Lane* const compute = impl_->state.computeLane.load(std::memory_order_acquire);
  return compute == nullptr ? kNotGiven : compute->openJob();
}

const std::string& Recorder::logPath() const {
  assert(isOn());
  return impl_->path;
}

const RankInfo& Recorder::info() const {
  assert(isOn());
  return impl_->info;
}

const WallClock& Recorder::clock() const {
  assert(isOn());
  return impl_->state.clock;
}

std::int64_t Recorder::drawJobId() noexcept {
  return impl_->state.nextJobId.fetch_add(1, std::memory_order_relaxed);
}

void Recorder::beginStep(std::int32_t step) noexcept {
  if (isOn()) impl_->state.currentStep.store(step, std::memory_order_relaxed);
}

void Recorder::setPhase(Phase phase) noexcept {
  if (isOn()) impl_->state.phase.store(phase, std::memory_order_relaxed);
}

void Recorder::endStep(std::int32_t step) noexcept {
  if (!isOn()) return;
  Lane* const compute = impl_->state.computeLane.load(std::memory_order_relaxed);
  const std::uint64_t jobs = compute == nullptr ? 0 : compute->finished();
  impl_->state.endedSteps.push({.step = step, .computeJobs = jobs});
}

void Recorder::sample(const char* name, double value, const char* unit) noexcept {
  if (name == nullptr || *name == '\0') {
    impl_->state.misuses.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (!impl_->state.wantsSamples()) return;
  impl_->state.counters.push({.name = reinterpret_cast<std::uintptr_t>(name),
                              .unit = reinterpret_cast<std::uintptr_t>(unit),
                              .monotonic = monotonicNow(),
                              .value = value});
}

void Recorder::addCounter(std::string name, std::string unit, std::function<double()> value) {
  if (!isOn()) return;
  if (name.empty()) throw Error("cannot record a counter without a name");
  if (!value) throw Error("cannot record the counter \"" + name + "\": its function is empty");
  name.resize(shortText(name).size());
  impl_->log.counterSources().add(std::move(name), std::move(unit), std::move(value));
}

const char* Recorder::text(std::string_view content) {
  return isOn() ? impl_->texts.text(content) : "";
}

void Recorder::flush() {
  if (isOn()) impl_->log.flush();
}

void Recorder::close() {
  if (isOn()) impl_->log.close();
}

}  // namespace pipetrace
