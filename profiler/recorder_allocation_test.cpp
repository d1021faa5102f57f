// Counts what the recording calls allocate, by replacing the program's operator new.
#include <gmock/gmock.h>

#include <cstdlib>
#include <new>

#include "profiler/cpu_stream.h"
#include "profiler/emulated_stream.h"
#include "profiler/recorded_log.h"
#include "profiler/recorder.h"

namespace {

thread_local long allocations = 0;

void* counted(std::size_t size) {
  ++allocations;
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

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

namespace pipetrace {
namespace {

TEST(RecorderAllocationTest, RecordingAllocatesNothing) {
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder(), .ringSlots = 64});
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  const StreamId emulated = recorder.addStream("recv", std::make_unique<EmulatedStream>());
  const long before = allocations;
  for (int step = 0; step < 2000; ++step) {  // full rings included
    recorder.begin(compute, {.kind = JobKind::kForward, .step = step, .action = "0F0"});
    recorder.end(compute);
    recorder.begin(emulated, {.kind = JobKind::kRecvForward, .id = recorder.nextJobId()});
    recorder.end(emulated, 4096);
    recorder.counter("loss", step);
    recorder.endStep(step);
  }
  EXPECT_EQ(allocations - before, 0);
  const auto probe = std::make_unique<int>(1);
  EXPECT_EQ(allocations - before, *probe) << "the count itself works";
}

}  // namespace
}  // namespace pipetrace
