#include "runtime/record/device_streams.h"

#include <string>
#include <utility>

#include "profiler/cuda/stream.h"
#include "trace/track.h"

namespace pipetrace {

RecordedStreams addDeviceStreams(Recorder& recorder, RankDevice& device,
                                 std::shared_ptr<CudaApi> cuda, bool hasLine) {
  RecordedStreams streams{.recorder = &recorder};
  if (!recorder.isOn()) return streams;
  const auto clocked = std::make_shared<CudaDevice>(std::move(cuda), device.device().index());
  const auto add = [&](std::string_view lane, const c10::Stream& stream) {
    return recorder.addStream(
        std::string(lane),
        std::make_unique<CudaStream>(clocked, static_cast<CudaApi::Stream>(stream.native_handle()),
                                     CudaStreamOptions{.clock = recorder.clock()}));
  };
  streams.compute = add(kComputeLane, device.compute());
  streams.reductions = add(kReductionLane, device.compute());
  streams.send = {add(kSendForwardLane, device.compute()),
                  add(kSendBackwardLane, device.compute())};
  streams.recv = {add(kRecvForwardLane, device.receives(true)),
                  add(kRecvBackwardLane, device.receives(false))};
  if (hasLine) streams.line = add(kLineLane, device.line());
  return streams;
}

}  // namespace pipetrace
