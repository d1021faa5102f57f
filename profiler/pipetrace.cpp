#include "profiler/pipetrace.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "profiler/clock/clock_comparison.h"
#include "profiler/clock/clock_exchange.h"
#include "profiler/clock/wall_clock.h"
#include "profiler/cpu_stream.h"
#include "profiler/cuda/device.h"
#include "profiler/cuda/driver.h"
#include "profiler/cuda/stream.h"
#include "profiler/nccl/recording.h"
#include "profiler/recorder.h"
#include "profiler/switches.h"
#include "trace/error.h"

namespace {

using namespace pipetrace;

// A kind of the C header is the JobKind of that number; pipetrace_test.cpp compares them all.
static_assert(PIPETRACE_EVALUATE == static_cast<int>(Phase::kEvaluate) &&
                  PIPETRACE_PREDICT == static_cast<int>(Phase::kPredict),
              "a phase of the C header is the Phase of that number");

thread_local std::string lastError;

/// Runs `action`, which may throw; -1 if it does.
template <typename Action>
int guarded(const Action& action) noexcept {
  try {
    action();
    return 0;
  } catch (const std::exception& error) {
    try {
      lastError = error.what();
    } catch (const std::exception&) {
      lastError.clear();
    }
  }
  return -1;
}

/// The caller's options; fields that an older caller does not know are not given.
pipetrace_options known(const pipetrace_options* given) {
  pipetrace_options options;
  pipetrace_options_init(&options);
  if (given == nullptr || given->size < offsetof(pipetrace_options, world_size)) {
    throw Error("pipetrace_open needs options: start them with pipetrace_options_init()");
  }
  std::memcpy(&options, given, std::min(given->size, sizeof(options)));
  return options;
}

/// Copies as much of `given` as the caller's struct has room for; the rest of a newer caller's is
/// zero.
template <typename Struct>
void start(Struct* target, std::size_t size, const Struct& given) {
  std::memset(static_cast<void*>(target), 0, size);
  std::memcpy(static_cast<void*>(target), &given, std::min(size, sizeof(given)));
}

/// sizeof(Struct) in version 0.1, when its last field was the one at `offset`.
template <typename Struct>
constexpr std::size_t sizeOf01(std::size_t offset, std::size_t field) {
  return (offset + field + alignof(Struct) - 1) / alignof(Struct) * alignof(Struct);
}

constexpr std::size_t kOptions01 = sizeOf01<pipetrace_options>(
    offsetof(pipetrace_options, ring_slots), sizeof(pipetrace_options::ring_slots));
constexpr std::size_t kJob01 =
    sizeOf01<pipetrace_job>(offsetof(pipetrace_job, action), sizeof(pipetrace_job::action));
/// The least size of a caller's job that has `part` and `version`.
constexpr std::size_t kJobWithPart =
    offsetof(pipetrace_job, version) + sizeof(pipetrace_job::version);

std::string text(const char* given) { return given == nullptr ? "" : given; }

std::optional<int> positive(std::int32_t value) {
  return value > 0 ? std::optional<int>(value) : std::nullopt;
}

std::optional<int> index(std::int32_t value) {
  return value >= 0 ? std::optional<int>(value) : std::nullopt;
}

RecorderOptions recorderOptions(const pipetrace_options& given) {
  if (given.enabled < PIPETRACE_BY_ENVIRONMENT || given.enabled > PIPETRACE_OFF) {
    throw Error("pipetrace_options.enabled is " + std::to_string(given.enabled) +
                ": use PIPETRACE_ON, PIPETRACE_OFF or PIPETRACE_BY_ENVIRONMENT");
  }
  if (given.rank < 0) throw Error("pipetrace_options.rank is negative: ranks count from 0");
  RecorderOptions options{.isOn = false};
  if (given.enabled == PIPETRACE_OFF) return options;  // whatever the environment says
  const Switches switches = Switches::fromEnvironment();
  options.isOn = given.enabled == PIPETRACE_ON ? OnOff(true) : switches.isOn;
  options.logDirectory = text(given.log_directory);
  if (options.logDirectory.empty()) options.logDirectory = switches.logDirectory;
  options.steps = switches.steps;
  if (given.first_step != 0 || given.end_step != 0) {
    options.steps = {.first = given.first_step, .end = given.end_step};
  }
  if (given.ring_slots != 0) options.ringSlots = given.ring_slots;
  options.info.rank = given.rank;
  options.info.worldSize = positive(given.world_size);
  options.info.numStages = positive(given.num_stages);
  options.info.numChunks = positive(given.num_chunks);
  options.info.numMicroBatches = positive(given.num_micro_batches);
  options.info.device = text(given.device);
  options.info.schedule = text(given.schedule);
  options.info.blocks = text(given.blocks);
  options.info.dataParallelIndex = index(given.data_parallel_index);
  options.info.tensorParallelIndex = index(given.tensor_parallel_index);
  return options;
}

JobKind kindOf(std::int32_t number) noexcept {
  const JobKind kind = jobKindOfNumber(number);
  return isRecorded(kind) ? kind : JobKind::kOther;
}

bool isStarted(const pipetrace_job* job) noexcept { return job != nullptr && job->size >= kJob01; }

/// The job of a caller whose struct may be older.
[[gnu::always_inline]] inline Job jobOf(const pipetrace_job& job) noexcept {
  const bool hasPart = job.size >= kJobWithPart;
  return {.kind = kindOf(job.kind),
          .microBatch = job.micro_batch,
          .step = job.step,
          .stage = job.stage,
          .chunk = job.chunk,
          .peer = job.peer,
          .bytes = job.bytes,
          .id = job.id,
          .action = job.action,
          .part = hasPart ? job.part : kNotGiven,
          .version = hasPart ? job.version : kNotGiven};
}

}  // namespace

struct pipetrace_recorder {
  explicit pipetrace_recorder(const RecorderOptions& options)
      : recorder(options), nccl(std::in_place, recorder) {}

  int addStream(const char* name, std::unique_ptr<DeviceStream> stream) {
    if (text(name).empty()) throw Error(R"(a stream needs a name: "compute", "send")");
    return recorder.addStream(name, std::move(stream));
  }
  /// One device for all its streams, as long as there is one.
  std::shared_ptr<CudaDevice> device(int number) {
    std::shared_ptr<CudaDevice> device = devices[number].lock();
    if (device == nullptr) {
      if (cuda == nullptr) cuda = makeCudaDriver();
      device = std::make_shared<CudaDevice>(cuda, number);
      devices[number] = device;
    }
    return device;
  }

  std::shared_ptr<CudaApi> cuda;
  std::map<int, std::weak_ptr<CudaDevice>> devices;
  /// The clock that the log's times are in.
  ClockFunction clockOfLog() {
    return [this] { return recorder.clock().at(monotonicNow()); };
  }
  Recorder& openOne() {
    if (!recorder.isOn()) throw Error("clocks are compared while a recorder is on");
    return recorder;
  }

  Recorder recorder;
  std::optional<ClockServer> clockServer;
  std::optional<ClockComparison> clockComparison;
  std::optional<NcclRecording> nccl;  // serves a process's first recorder; idle without NCCL
};

void pipetrace_options_init_sized(pipetrace_options* options, size_t size) {
  pipetrace_options given{};
  given.size = size;
  given.data_parallel_index = PIPETRACE_NOT_GIVEN;
  given.tensor_parallel_index = PIPETRACE_NOT_GIVEN;
  start(options, size, given);
}

void pipetrace_job_init_sized(pipetrace_job* job, size_t size, int32_t kind) {
  start(job, size,
        {.size = static_cast<std::uint32_t>(size),
         .kind = kind,
         .micro_batch = 0,
         .step = PIPETRACE_NOT_GIVEN,
         .stage = PIPETRACE_NOT_GIVEN,
         .chunk = PIPETRACE_NOT_GIVEN,
         .peer = PIPETRACE_NOT_GIVEN,
         .bytes = PIPETRACE_NOT_GIVEN,
         .id = PIPETRACE_NOT_GIVEN,
         .action = nullptr,
         .part = PIPETRACE_NOT_GIVEN,
         .version = PIPETRACE_NOT_GIVEN});
}

// The names are in brackets, so that these are no uses of the macros.
void(pipetrace_options_init)(pipetrace_options* options) {
  pipetrace_options_init_sized(options, kOptions01);
}

void(pipetrace_job_init)(pipetrace_job* job, int32_t kind) {
  pipetrace_job_init_sized(job, kJob01, kind);
}

int pipetrace_open(const pipetrace_options* options, pipetrace_recorder** recorder) {
  if (recorder != nullptr) *recorder = nullptr;
  return guarded([&] {
    if (recorder == nullptr) throw Error("pipetrace_open needs a place for the recorder");
    const RecorderOptions given = recorderOptions(known(options));
    if (given.isOn) {
      *recorder = new pipetrace_recorder(given);
    } else {
      const Recorder off(given);  // which may report how to switch it on
    }
  });
}

int pipetrace_add_stream(pipetrace_recorder* recorder, const char* name) {
  if (recorder == nullptr) return 0;
  int stream = -1;
  guarded([&] { stream = recorder->addStream(name, std::make_unique<CpuStream>()); });
  return stream;
}

int pipetrace_add_cuda_stream(pipetrace_recorder* recorder, const char* name, void* cuda_stream,
                              int32_t device) {
  if (recorder == nullptr || !recorder->recorder.isOn()) return 0;
  int stream = -1;
  guarded([&] {
    const CudaStreamOptions options{.clock = recorder->recorder.clock()};
    stream = recorder->addStream(
        name, std::make_unique<CudaStream>(recorder->device(device), cuda_stream, options));
  });
  return stream;
}

int64_t pipetrace_begin(pipetrace_recorder* recorder, int stream,
                        const pipetrace_job* job) noexcept {
  if (recorder == nullptr) return PIPETRACE_NOT_GIVEN;
  if (!isStarted(job)) [[unlikely]] {
    recorder->recorder.refuse(stream);
    return PIPETRACE_NOT_GIVEN;
  }
  return recorder->recorder.begin(stream, jobOf(*job));
}

int64_t pipetrace_next_job_id(pipetrace_recorder* recorder) noexcept {
  return recorder == nullptr ? PIPETRACE_NOT_GIVEN : recorder->recorder.nextJobId();
}

void pipetrace_end(pipetrace_recorder* recorder, int stream) noexcept {
  if (recorder != nullptr) recorder->recorder.end(stream);
}

void pipetrace_cancel(pipetrace_recorder* recorder, int stream) noexcept {
  if (recorder != nullptr) recorder->recorder.cancel(stream);
}

void pipetrace_record(pipetrace_recorder* recorder, int stream, const pipetrace_job* job,
                      int64_t began, int64_t ended) noexcept {
  if (recorder == nullptr) return;
  if (!isStarted(job)) return recorder->recorder.refuse(-1);
  recorder->recorder.record(stream, jobOf(*job), began, ended);
}

void pipetrace_record_all(pipetrace_recorder* recorder, const pipetrace_ended_job* jobs,
                          size_t count, size_t size) noexcept {
  const auto* at = reinterpret_cast<const std::byte*>(jobs);
  for (std::size_t i = 0; i < count; ++i, at += size) {
    const auto* const ended = reinterpret_cast<const pipetrace_ended_job*>(at);
    pipetrace_record(recorder, ended->stream, &ended->job, ended->began, ended->ended);
  }
}

void pipetrace_begin_step(pipetrace_recorder* recorder, int32_t step) noexcept {
  if (recorder != nullptr) recorder->recorder.beginStep(step);
}

void pipetrace_set_phase(pipetrace_recorder* recorder, int32_t phase) noexcept {
  if (recorder == nullptr) return;
  if (phase < PIPETRACE_TRAINING || phase > PIPETRACE_PREDICT) return recorder->recorder.refuse(-1);
  recorder->recorder.setPhase(static_cast<Phase>(phase));
}

void pipetrace_end_step(pipetrace_recorder* recorder, int32_t step) noexcept {
  if (recorder != nullptr) recorder->recorder.endStep(step);
}

const char* pipetrace_text(pipetrace_recorder* recorder, const char* text) {
  if (recorder == nullptr) return "";
  const char* kept = nullptr;
  guarded([&] {
    if (text != nullptr) kept = recorder->recorder.text(text);
  });
  return kept;
}

void pipetrace_counter(pipetrace_recorder* recorder, const char* name, double value,
                       const char* unit) noexcept {
  if (recorder != nullptr) recorder->recorder.counter(name, value, unit);
}

int pipetrace_add_counter(pipetrace_recorder* recorder, const char* name, const char* unit,
                          double (*value)(void* context), void* context) {
  if (recorder == nullptr) return 0;
  return guarded([&] {
    if (name == nullptr || value == nullptr) throw Error("a counter needs a name and a function");
    recorder->recorder.addCounter(name, text(unit), [value, context] { return value(context); });
  });
}

int pipetrace_serve_clock(pipetrace_recorder* recorder, const char* address, int32_t port,
                          const char* token) {
  if (recorder == nullptr) return 0;
  int found = -1;
  guarded([&] {
    static_cast<void>(recorder->openOne());
    recorder->clockServer.emplace(ClockPlace{text(address), port, text(token)},
                                  recorder->clockOfLog());
    found = recorder->clockServer->port();
  });
  return found;
}

int pipetrace_compare_clock(pipetrace_recorder* recorder, const char* address, int32_t port,
                            const char* token) {
  if (recorder == nullptr) return 0;
  return guarded([&] {
    recorder->clockComparison.emplace(recorder->openOne().logPath(),
                                      ClockPlace{text(address), port, text(token)},
                                      recorder->clockOfLog());
  });
}

int pipetrace_flush(pipetrace_recorder* recorder) {
  if (recorder == nullptr) return 0;
  return guarded([&] { recorder->recorder.flush(); });
}

int pipetrace_close(pipetrace_recorder* recorder) {
  if (recorder == nullptr) return 0;
  recorder->clockComparison.reset();
  recorder->clockServer.reset();
  recorder->nccl.reset();
  const int result = guarded([&] { recorder->recorder.close(); });
  delete recorder;
  return result;
}

const char* pipetrace_error(void) { return lastError.c_str(); }
