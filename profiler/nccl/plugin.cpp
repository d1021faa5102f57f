#include "profiler/nccl/plugin.h"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "profiler/clock/wall_clock.h"
#include "profiler/nccl/recording.h"
#include "profiler/switches.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr std::size_t kSlots = 1 << 14;
constexpr int kSuccess = 0;
// NCCL's NCCL_LOG_INFO and NCCL_INIT.
constexpr int kInfo = 3;
constexpr unsigned long kInit = 1;

/// The device's own times cost each channel of a kernel two stamps, so the user has to ask for
/// them.
bool wantsKernelChannels() {
  const char* const value = std::getenv("PIPETRACE_NCCL_KERNELS");
  return value != nullptr && std::string_view(value) == "1";
}

struct Plugin {
  const bool kernelChannels = wantsKernelChannels();
  NcclEvents events{kSlots, kernelChannels};

  std::atomic<NcclRecording*> recording = nullptr;
  std::atomic<int> calls = 0;  // that may be using `recording`

  std::mutex mutex;  // guards the rest
  std::deque<NcclCommunicator> communicators;
  int openCommunicators = 0;
  int* eventMask = nullptr;  // NCCL's, while there is a communicator
  std::unique_ptr<Recorder> ownRecorder;
  std::unique_ptr<NcclRecording> ownRecording;

  int mask() const {
    using namespace nccl_event;
    return static_cast<int>(kCollective | kPointToPoint | kCollectiveCall | kPointToPointCall |
                            (kernelChannels ? kKernelChannel : 0));
  }
  void setMask() {
    if (eventMask == nullptr) return;
    const bool isOn = recording.load(std::memory_order_relaxed) != nullptr;
    std::atomic_ref(*eventMask).store(isOn ? mask() : 0, std::memory_order_relaxed);
  }
};

Plugin& plugin() {
  static Plugin* const instance = new Plugin;  // never destroyed: see ncclEvents()
  return *instance;
}

/// While it lives, the recording stays.
class Call {
 public:
  Call() noexcept { plugin().calls.fetch_add(1); }
  ~Call() { plugin().calls.fetch_sub(1); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  NcclRecording* recording() const noexcept { return plugin().recording.load(); }
};

int numberOf(const char* variable, int otherwise) {
  const char* const value = std::getenv(variable);
  return value == nullptr || *value == '\0' ? otherwise : std::atoi(value);
}

void closeOwn() {
  // Not under the lock: the recording detaches itself.
  std::unique_ptr<NcclRecording> recording;
  std::unique_ptr<Recorder> recorder;
  {
    const std::lock_guard lock(plugin().mutex);
    recording.swap(plugin().ownRecording);
    recorder.swap(plugin().ownRecorder);
  }
  recording.reset();
  recorder.reset();
}

/// Opens a recorder where the program has none, and the environment says PIPETRACE=1.
void openOwn(int ranks, int rank) {
  try {
    const Switches switches = Switches::fromEnvironment();
    if (!switches.isOn) return;
    RecorderOptions options;
    options.logDirectory = switches.logDirectory;
    options.info.rank = numberOf("RANK", rank);
    options.info.worldSize = numberOf("WORLD_SIZE", ranks);
    options.giveWay = closeOwn;  // to the program's own
    auto recorder = std::make_unique<Recorder>(options);
    auto recording = std::make_unique<NcclRecording>(*recorder);
    const std::lock_guard lock(plugin().mutex);
    static const int registered = std::atexit(closeOwn);
    static_cast<void>(registered);
    plugin().ownRecorder = std::move(recorder);
    plugin().ownRecording = std::move(recording);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pipetrace: NCCL is not recorded: %s\n", error.what());
  }
}

int init(void** context, std::uint64_t communicator, int* eventMask, const char* /*name*/,
         int /*nodes*/, int ranks, int rank, NcclLogger log) {
  Plugin& state = plugin();
  if (state.recording.load() == nullptr) openOwn(ranks, rank);
  const std::lock_guard lock(state.mutex);
  NcclCommunicator& added = state.communicators.emplace_back();
  added.id = communicator;
  added.ranks = ranks;
  added.rank = rank;
  ++state.openCommunicators;
  if (context != nullptr) *context = &added;
  state.eventMask = eventMask;
  state.setMask();
  if (NcclRecording* const recording = state.recording.load()) {
    recording->begin();
  } else if (log != nullptr) {
    log(kInfo, kInit, __FILE__, __LINE__,
        "PipeTrace: no recorder is open, and PIPETRACE=1 is not set: NCCL is not recorded");
  }
  return kSuccess;
}

int startEvent(void* context, void** handle, NcclEventDescription* description) {
  if (handle == nullptr) return kSuccess;
  *handle = nullptr;
  const Call call;
  const NcclRecording* const recording = call.recording();
  if (recording == nullptr || context == nullptr || description == nullptr) return kSuccess;
  const NcclEvents::Handle number = plugin().events.start(
      *static_cast<NcclCommunicator*>(context), *description, recording->openJob(), monotonicNow());
  *handle = reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
  return kSuccess;
}

NcclEvents::Handle numberOf(void* handle) {
  return static_cast<NcclEvents::Handle>(reinterpret_cast<std::uintptr_t>(handle));
}

int stopEvent(void* handle) {
  if (handle != nullptr) plugin().events.stop(numberOf(handle), monotonicNow());
  return kSuccess;
}

int recordEventState(void* handle, int state, NcclStateArguments* arguments) {
  if (handle == nullptr || arguments == nullptr || state != kNcclKernelChannelStopped) {
    return kSuccess;
  }
  plugin().events.stopKernelChannel(numberOf(handle), arguments->gpuTime, monotonicNow());
  return kSuccess;
}

int finalize(void* context) {
  if (context == nullptr) return kSuccess;
  Plugin& state = plugin();
  {
    const std::lock_guard lock(state.mutex);
    if (state.openCommunicators > 0 && --state.openCommunicators == 0) state.eventMask = nullptr;
  }
  const Call call;
  if (NcclRecording* const recording = call.recording()) recording->flush();
  return kSuccess;
}

}  // namespace

void useStaticNcclPlugin() { setenv("NCCL_PROFILER_PLUGIN", "STATIC_PLUGIN", 0); }

NcclEvents& ncclEvents() { return plugin().events; }

bool attachNccl(NcclRecording& recording) {
  bool hasOwn = false;
  {
    const std::lock_guard lock(plugin().mutex);
    hasOwn = plugin().ownRecording != nullptr;
  }
  if (hasOwn) closeOwn();  // the program's own recorder takes precedence
  const std::lock_guard lock(plugin().mutex);
  NcclRecording* none = nullptr;
  if (!plugin().recording.compare_exchange_strong(none, &recording)) return false;
  plugin().setMask();
  if (plugin().openCommunicators > 0) recording.begin();
  return true;
}

void detachNccl(NcclRecording& recording) noexcept {
  {
    const std::lock_guard lock(plugin().mutex);
    NcclRecording* expected = &recording;
    if (!plugin().recording.compare_exchange_strong(expected, nullptr)) return;
    plugin().setMask();
  }
  while (plugin().calls.load() != 0) std::this_thread::yield();
}

void abandonNccl(NcclRecording& recording) noexcept {
  NcclRecording* expected = &recording;
  plugin().recording.compare_exchange_strong(expected, nullptr);
  plugin().calls.store(0);
  std::construct_at(&plugin().mutex);
}

}  // namespace pipetrace

const pipetrace::NcclProfilerTable ncclProfiler_v5 = {
    .name = "PipeTrace",
    .init = pipetrace::init,
    .startEvent = pipetrace::startEvent,
    .stopEvent = pipetrace::stopEvent,
    .recordEventState = pipetrace::recordEventState,
    .finalize = pipetrace::finalize};
