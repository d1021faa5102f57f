#include "profiler/cuda/event_pool.h"

#include <algorithm>
#include <bit>

#include "trace/error.h"

namespace pipetrace {

EventPool::EventPool(CudaApi& api, CudaApi::Stream stream, std::size_t size) : api_(api) {
  const std::size_t count = std::bit_ceil(std::clamp<std::size_t>(size, 4, 1U << 20));
  mask_ = static_cast<std::uint32_t>(count - 1);
  events_.reserve(count);
  while (events_.size() < count) {
    const CudaApi::Event event = api_.createEvent();
    if (event == nullptr || api_.record(event, stream) == CudaApi::Status::kFailed) {
      const std::string why = api_.lastError();
      if (event != nullptr) api_.destroyEvent(event);
      for (const CudaApi::Event made : events_) api_.destroyEvent(made);
      throw Error("cannot make " + std::to_string(count) + " events to record a CUDA stream: " +
                  why + "; ask for fewer, or record less of the stream at a time");
    }
    events_.push_back(event);
  }
}

EventPool::~EventPool() {
  for (const CudaApi::Event event : events_) api_.destroyEvent(event);
}

}  // namespace pipetrace
