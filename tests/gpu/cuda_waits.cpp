#include "tests/gpu/cuda_waits.h"

#include <cupti.h>

#include <mutex>
#include <utility>

#include "profiler/kernels/cupti_api.h"

namespace pipetrace {
namespace {

struct ThisThread {
  bool counts = false;
  int depth = 0;  // of the calls that wait
};
thread_local ThisThread thisThread;

std::mutex mutex;
CudaWaits::Counts counts;

std::string textOf(CUptiResult result) {
  const char* text = nullptr;
  cuptiGetResultString(result, &text);
  return text == nullptr ? "unknown error" : text;
}

void CUPTIAPI called(void* /*user*/, CUpti_CallbackDomain /*domain*/, CUpti_CallbackId /*id*/,
                     const void* data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite == CUPTI_API_ENTER) {
    const std::string_view name = call.functionName;
    CudaWaits::entered(std::string(name.substr(0, name.find('_'))));  // without its version
  } else {
    CudaWaits::left();
  }
}

CUptiResult watch(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                  CUpti_CallbackId end) {
  for (CUpti_CallbackId id = 1; id < end; ++id) {
    const char* name = nullptr;
    if (cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS || name == nullptr) continue;
    if (!waitsForDevice(name)) continue;
    const CUptiResult result = cuptiEnableCallback(1, subscriber, domain, id);
    if (result != CUPTI_SUCCESS) return result;
  }
  return CUPTI_SUCCESS;
}

}  // namespace

bool waitsForDevice(std::string_view call) {
  const auto has = [&](std::string_view part) { return call.find(part) != call.npos; };
  if (has("Synchronize")) return true;
  if (has("Async")) return false;
  for (const std::string_view start :
       {"cudaMemcpy", "cuMemcpy", "cu64Memcpy", "cudaFree", "cuMemFree", "cu64MemFree"}) {
    if (call.starts_with(start)) return true;
  }
  return false;
}

CudaWaits::CudaWaits() {
  const auto cupti = makeCupti();
  if (cupti->deviceCount() == 0) {
    trouble_ = cupti->lastError();
    return;
  }
  CUpti_SubscriberHandle subscriber = nullptr;
  CUptiResult result = cuptiSubscribe(&subscriber, called, nullptr);
  if (result == CUPTI_SUCCESS) {
    subscriber_ = subscriber;
    result = watch(subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE);
  }
  if (result == CUPTI_SUCCESS) {
    result = watch(subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE);
  }
  if (result != CUPTI_SUCCESS) trouble_ = textOf(result);
}

CudaWaits::~CudaWaits() {
  if (subscriber_ != nullptr) cuptiUnsubscribe(static_cast<CUpti_SubscriberHandle>(subscriber_));
}

void CudaWaits::begin() noexcept { thisThread = {.counts = true}; }

void CudaWaits::end() noexcept { thisThread = {}; }

void CudaWaits::entered(const std::string& call) {
  if (!thisThread.counts || ++thisThread.depth > 1) return;
  const std::lock_guard lock(mutex);
  ++counts[call];
}

void CudaWaits::left() noexcept {
  if (thisThread.depth > 0) --thisThread.depth;
}

CudaWaits::Counts CudaWaits::take() {
  const std::lock_guard lock(mutex);
  return std::exchange(counts, {});
}

}  // namespace pipetrace
