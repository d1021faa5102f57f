#include "profiler/testing/fake_cuda_driver.h"

#include <algorithm>
#include <ctime>
#include <deque>
#include <mutex>
#include <numeric>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kInvalidContext = 201;
constexpr int kNotReady = 600;

struct Stream {
  std::int64_t busyUntil = 0;
  bool captures = false;
};

struct Event {
  std::int64_t time = 0;  // 0: never recorded
};

std::mutex mutex;
std::deque<Stream> streams(1);  // the legacy default stream first
std::deque<Event> events;
int records = 0;
int misuses = 0;
int context = 0;  // its address is one
thread_local void* current = nullptr;
thread_local int captureMode = 0;

std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

Stream& streamOf(void* handle) {
  return handle == nullptr ? streams.front() : *static_cast<Stream*>(handle);
}

int misuse(int result) {
  ++misuses;
  return result;
}

}  // namespace

extern "C" {

void* fakeCudaNewStream() {
  const std::lock_guard lock(mutex);
  return &streams.emplace_back();
}

void fakeCudaWork(void* stream, std::int64_t nanoseconds) {
  const std::lock_guard lock(mutex);
  Stream& on = streamOf(stream);
  on.busyUntil = std::max(on.busyUntil, now()) + nanoseconds;
}

void fakeCudaCapture(void* stream, bool captures) {
  const std::lock_guard lock(mutex);
  streamOf(stream).captures = captures;
}

bool fakeCudaHasContext() { return current != nullptr; }

int fakeCudaRecords() {
  const std::lock_guard lock(mutex);
  return records;
}

int fakeCudaMisuses() {
  const std::lock_guard lock(mutex);
  return misuses;
}

int cuInit(unsigned) { return kSuccess; }

int cuDeviceGetCount(int* count) {
  *count = 1;
  return kSuccess;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? kSuccess : kInvalidValue;
}

int cuDeviceGetUuid(unsigned char* uuid, int device) {
  std::iota(uuid, uuid + 16, static_cast<unsigned char>(16 * device));
  return kSuccess;
}

int cuDevicePrimaryCtxRetain(void** retained, int) {
  *retained = &context;
  return kSuccess;
}

int cuCtxSetCurrent(void* wanted) {
  current = wanted;
  return kSuccess;
}

int cuCtxGetDevice(int* device) {
  *device = 0;
  return current == nullptr ? kInvalidContext : kSuccess;
}

int cuEventCreate(void** event, unsigned) {
  const std::lock_guard lock(mutex);
  if (current == nullptr) return misuse(kInvalidContext);
  *event = &events.emplace_back();
  return kSuccess;
}

int cuEventDestroy_v2(void*) { return kSuccess; }

int cuEventRecord(void* event, void* stream) {
  const std::lock_guard lock(mutex);
  if (streamOf(stream).captures) return misuse(kInvalidValue);
  // A default stream is that of the current context.
  if (stream == nullptr && current == nullptr) return misuse(kInvalidContext);
  ++records;
  static_cast<Event*>(event)->time = std::max(streamOf(stream).busyUntil, now());
  return kSuccess;
}

int cuEventQuery(void* event) {
  const std::lock_guard lock(mutex);
  const std::int64_t time = static_cast<Event*>(event)->time;
  if (time == 0) return misuse(kInvalidValue);
  return time > now() ? kNotReady : kSuccess;
}

int cuEventElapsedTime(float* milliseconds, void* from, void* to) {
  const std::lock_guard lock(mutex);
  const std::int64_t begin = static_cast<Event*>(from)->time;
  const std::int64_t end = static_cast<Event*>(to)->time;
  if (begin == 0 || end == 0 || std::max(begin, end) > now()) return misuse(kNotReady);
  *milliseconds = static_cast<float>(end - begin) * 1e-6F;
  return kSuccess;
}

int cuStreamCreate(void** stream, unsigned) {
  const std::lock_guard lock(mutex);
  if (current == nullptr) return misuse(kInvalidContext);
  *stream = &streams.emplace_back();
  return kSuccess;
}

int cuStreamDestroy_v2(void*) { return kSuccess; }

int cuStreamIsCapturing(void* stream, int* status) {
  const std::lock_guard lock(mutex);
  *status = streamOf(stream).captures ? 1 : 0;
  return kSuccess;
}

int cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, captureMode);
  return kSuccess;
}

int cuGetErrorString(int result, const char** text) {
  *text = result == kInvalidContext ? "invalid device context" : "made up";
  return kSuccess;
}
}
