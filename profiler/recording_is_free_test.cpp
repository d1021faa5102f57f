// Counts what the recording calls allocate and lock, by replacing the system's functions for that.
// Records also in a process that the system ends at its first system call.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "profiler/cpu_stream.h"
#include "profiler/cuda/stream.h"
#include "profiler/emulated_stream.h"
#include "profiler/pipetrace.h"
#include "profiler/recorder.h"
#include "profiler/testing/recorded_log.h"

namespace {

thread_local long allocations = 0;
thread_local long mallocs = 0;  // those of `allocations` as well, where they can be counted
thread_local long locks = 0;

void* counted(std::size_t size) {
  ++allocations;
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// GCC takes a delete whose body it sees and a new whose body it does not for a mismatch.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

// The sanitizers stand in for the same functions themselves.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define PIPETRACE_COUNTS_LOCKS 1

#if defined(__GLIBC__)  // which names its own
extern "C" void* __libc_malloc(std::size_t size);
extern "C" void* malloc(std::size_t size) noexcept {
  ++mallocs;
  return __libc_malloc(size);
}
#endif

#define PIPETRACE_COUNTED(name, type)                                                       \
  extern "C" int name(type* object) {                                                       \
    static const auto original = reinterpret_cast<int (*)(type*)>(dlsym(RTLD_NEXT, #name)); \
    ++locks;                                                                                \
    return original(object);                                                                \
  }
PIPETRACE_COUNTED(pthread_mutex_lock, pthread_mutex_t)
PIPETRACE_COUNTED(pthread_mutex_trylock, pthread_mutex_t)
PIPETRACE_COUNTED(pthread_rwlock_rdlock, pthread_rwlock_t)
PIPETRACE_COUNTED(pthread_rwlock_wrlock, pthread_rwlock_t)
PIPETRACE_COUNTED(pthread_spin_lock, volatile int)
PIPETRACE_COUNTED(pthread_cond_signal, pthread_cond_t)
PIPETRACE_COUNTED(pthread_cond_broadcast, pthread_cond_t)
#endif

namespace pipetrace {
namespace {

/// Records on CPU and emulated streams until all rings have been full.
void recordAll(Recorder& recorder, StreamId compute, StreamId emulated) {
  for (int step = 0; step < 2000; ++step) {
    recorder.beginStep(step);
    recorder.begin(compute, {.kind = JobKind::kForward, .step = step, .action = "0F0"});
    recorder.end(compute);
    recorder.begin(emulated, {.kind = JobKind::kRecvForward, .id = recorder.nextJobId()});
    recorder.end(emulated, 4096);
    recorder.counter("loss", step);
    recorder.endStep(step);
  }
}

static_assert(noexcept(std::declval<Recorder&>().begin(0, Job())));
static_assert(noexcept(std::declval<Recorder&>().end(0)));
static_assert(noexcept(std::declval<Recorder&>().refuse(0)));
static_assert(noexcept(std::declval<Recorder&>().beginStep(0)));
static_assert(noexcept(std::declval<Recorder&>().endStep(0)));
static_assert(noexcept(std::declval<Recorder&>().counter("", 0)));
static_assert(noexcept(std::declval<Recorder&>().nextJobId()));
static_assert(noexcept(std::declval<Recorder&>().openJob()));
static_assert(noexcept(pipetrace_begin(nullptr, 0, nullptr)));
static_assert(noexcept(pipetrace_end(nullptr, 0)));
static_assert(noexcept(pipetrace_begin_step(nullptr, 0)));
static_assert(noexcept(pipetrace_end_step(nullptr, 0)));
static_assert(noexcept(pipetrace_counter(nullptr, "", 0, nullptr)));
static_assert(noexcept(Scope(nullptr, 0, std::declval<const pipetrace_job&>())));

/// A device that is done with everything at once, and whose calls cost nothing of their own.
class InstantCuda : public CudaApi {
 public:
  Nanoseconds hostNow() noexcept override { return monotonicNow(); }
  int deviceCount() noexcept override { return 1; }
  bool setDevice(int) noexcept override { return true; }
  int currentDevice() noexcept override { return 0; }
  Event createEvent() noexcept override { return this; }
  void destroyEvent(Event) noexcept override {}
  Stream createStream() noexcept override { return this; }
  void destroyStream(Stream) noexcept override {}
  Status record(Event, Stream) noexcept override { return Status::kOk; }
  Status query(Event) noexcept override { return Status::kOk; }
  Status elapsed(Event, Event, float& milliseconds) noexcept override {
    milliseconds = 0;
    return Status::kOk;
  }
  bool exchangeRelaxedCapture(bool) noexcept override { return false; }
  std::string lastError() override { return "no error"; }
};

TEST(RecordingIsFreeTest, ACudaStreamAddsItsEventsOnly) {
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder(), .ringSlots = 64});
  const auto device = std::make_shared<CudaDevice>(std::make_shared<InstantCuda>(), 0);
  // Few events, so that the pool is exhausted at times, too.
  auto owned = std::make_unique<CudaStream>(device, nullptr, CudaStreamOptions{.events = 64});
  const CudaStream& stream = *owned;
  const StreamId compute = recorder.addStream("compute", std::move(owned));
  const long allocated = allocations;
  const long gotten = mallocs;
  const long locked = locks;
  for (int i = 0; i < 5000; ++i) {
    recorder.begin(compute, {.kind = JobKind::kForward, .step = 0});
    recorder.end(compute);
  }
  EXPECT_EQ(allocations - allocated, 0);
  EXPECT_EQ(mallocs - gotten, 0);
  EXPECT_EQ(locks - locked, 0);
  EXPECT_GT(stream.counts().records, 0);
}

TEST(RecordingIsFreeTest, RecordingAllocatesNothing) {
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder(), .ringSlots = 64});
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  const StreamId emulated = recorder.addStream("recv", std::make_unique<EmulatedStream>());
  const long before = allocations;
  const long mallocsBefore = mallocs;
  recordAll(recorder, compute, emulated);
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(mallocs - mallocsBefore, 0);
  const auto probe = std::make_unique<int>(1);
  EXPECT_EQ(allocations - before, *probe) << "the count itself works";
}

TEST(RecordingIsFreeTest, RecordingTakesNoLock) {
#if !defined(PIPETRACE_COUNTS_LOCKS)
  GTEST_SKIP() << "a sanitizer is in the way of counting locks";
#endif
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder(), .ringSlots = 64});
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  const StreamId emulated = recorder.addStream("recv", std::make_unique<EmulatedStream>());
  const long before = locks;
  recordAll(recorder, compute, emulated);
  EXPECT_EQ(locks - before, 0);
  std::mutex probe;
  { const std::lock_guard lock(probe); }
  EXPECT_EQ(locks - before, 1) << "the count itself works";
}

/// From here on any system call of this thread but exit ends the process. False: the system does
/// not offer that.
bool forbidSystemCalls() {
  std::array<sock_filter, 4> filter = {
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  const sock_fprog program{.len = filter.size(), .filter = filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

constexpr int kCannotForbid = 77;

/// Runs a child that calls `prepare`, and then, without the right to call the system, the function
/// that `prepare` returned. Returns the child's exit code, 0, or the signal that ended it.
int withoutSystemCalls(const std::function<std::function<void()>()>& prepare) {
  const pid_t child = fork();
  if (child == 0) {
    const std::function<void()> work = prepare();
    if (!forbidSystemCalls()) _exit(kCannotForbid);
    work();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(RecordingIsFreeTest, RecordingCallsTheSystemForNothing) {
#if !defined(PIPETRACE_COUNTS_LOCKS)
  GTEST_SKIP() << "a sanitizer calls the system";
#endif
  const int itself = withoutSystemCalls([] { return [] { syscall(SYS_getppid); }; });
  if (itself == kCannotForbid) GTEST_SKIP() << "the system does not forbid system calls";
  ASSERT_EQ(itself, SIGSYS) << "the ban itself works";
  if (withoutSystemCalls([] { return [] { monotonicNow(); }; }) != 0) {
    GTEST_SKIP() << "reading a clock is a system call here";
  }
  RecordedLog log;
  // More than the rings hold, in less time than the log thread takes to come round.
  EXPECT_EQ(
      withoutSystemCalls([&]() -> std::function<void()> {
        auto* const recorder = new Recorder({.logDirectory = log.folder(), .ringSlots = 64});
        const StreamId compute = recorder->addStream("compute", std::make_unique<CpuStream>());
        const StreamId emulated = recorder->addStream("recv", std::make_unique<EmulatedStream>());
        const auto device = std::make_shared<CudaDevice>(std::make_shared<InstantCuda>(), 0);
        const StreamId cuda = recorder->addStream(
            "copy", std::make_unique<CudaStream>(device, nullptr, CudaStreamOptions{.events = 64}));
        return [=] {
          recordAll(*recorder, compute, emulated);
          for (int i = 0; i < 5000; ++i) {
            recorder->begin(cuda, {.kind = JobKind::kCopy});
            recorder->end(cuda);
          }
        };
      }),
      0)
      << "the signal that ended it";
}

TEST(RecordingIsFreeTest, TheCHeaderAddsNothing) {
  RecordedLog log;
  pipetrace_options options;
  pipetrace_options_init(&options);
  options.enabled = PIPETRACE_ON;
  options.log_directory = log.folder().c_str();
  pipetrace_recorder* recorder = nullptr;
  ASSERT_EQ(pipetrace_open(&options, &recorder), 0);
  const int compute = pipetrace_add_stream(recorder, "compute");
  pipetrace_job job;
  pipetrace_job_init(&job, PIPETRACE_FORWARD);
  const long allocated = allocations + mallocs;
  const long locked = locks;
  for (int i = 0; i < 1000; ++i) {
    const Scope scope(recorder, compute, job);
    pipetrace_counter(recorder, "loss", 1, nullptr);
  }
  EXPECT_EQ(allocations + mallocs - allocated, 0);
  EXPECT_EQ(locks - locked, 0);
  pipetrace_close(recorder);
}

}  // namespace
}  // namespace pipetrace
