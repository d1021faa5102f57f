#include "profiler/recorder.h"

#include <unistd.h>

#include <array>
#include <cassert>
#include <utility>

#include "profiler/log_thread.h"
#include "profiler/recording_state.h"
#include "trace/error.h"
#include "trace/log_format.h"

namespace pipetrace {
namespace {

RankInfo completed(RankInfo info) {
  if (info.host.empty()) {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) == 0) info.host = name.data();
  }
  if (info.clock.empty()) info.clock = "monotonic";
  return info;
}

std::string logPath(const RecorderOptions& options) {
  const std::string name = std::string(log_format::kFilePrefix) + std::to_string(options.info.rank);
  return options.logDirectory.empty() ? name : options.logDirectory + "/" + name;
}

}  // namespace

class Recorder::Impl {
 public:
  explicit Impl(const RecorderOptions& options)
      : ringSlots(options.ringSlots),
        log(logPath(options), completed(options.info), options.holdLimit, state) {}

  const std::size_t ringSlots;
  RecordingState state;
  LogThread log;  // after the state that it reads
};

Recorder::Recorder(RecorderOptions options) : impl_(std::make_unique<Impl>(options)) {}

Recorder::~Recorder() = default;

StreamId Recorder::addStream(std::string name, std::unique_ptr<DeviceStream> stream) {
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
  auto& lane = state.lanes[static_cast<std::size_t>(index)];
  lane = std::make_unique<Lane>(std::move(name), std::move(stream), impl_->ringSlots);
  if (lane->name() == kComputeLane) {
    state.computeLane.store(lane.get(), std::memory_order_release);
  }
  state.laneCount.store(index + 1, std::memory_order_release);
  return index;
}

DeviceStream& Recorder::stream(StreamId id) {
  Lane* const lane = impl_->state.lane(id);
  assert(lane != nullptr);
  return lane->stream();
}

std::int64_t Recorder::nextJobId() noexcept {
  return impl_->state.nextJobId.fetch_add(1, std::memory_order_relaxed);
}

std::int64_t Recorder::begin(StreamId stream, const Job& job) noexcept {
  Lane* const lane = impl_->state.lane(stream);
  if (lane == nullptr) {
    impl_->state.misuses.fetch_add(1, std::memory_order_relaxed);
    return kNotGiven;
  }
  if (job.id != kNotGiven || lane != impl_->state.computeLane.load(std::memory_order_relaxed)) {
    lane->begin(job);
    return job.id;
  }
  Job numbered = job;
  numbered.id = nextJobId();
  lane->begin(numbered);
  return numbered.id;
}

void Recorder::end(StreamId stream, std::int64_t bytes) noexcept {
  if (Lane* const lane = impl_->state.lane(stream)) {
    lane->end(bytes);
  } else {
    impl_->state.misuses.fetch_add(1, std::memory_order_relaxed);
  }
}

void Recorder::endStep(std::int32_t step) noexcept {
  Lane* const compute = impl_->state.computeLane.load(std::memory_order_relaxed);
  const std::size_t jobs = compute == nullptr ? 0 : compute->ring().pushed();
  impl_->state.endedSteps.push({.step = step, .computeJobs = jobs});
}

void Recorder::counter(const char* name, double value, const char* unit) noexcept {
  const CounterRecord record{
      .name = name, .unit = unit, .monotonic = monotonicNow(), .value = value};
  if (!impl_->state.counters.push(record)) {
    impl_->state.droppedCounters.fetch_add(1, std::memory_order_relaxed);
  }
}

void Recorder::flush() { impl_->log.flush(); }

void Recorder::close() { impl_->log.close(); }

}  // namespace pipetrace
