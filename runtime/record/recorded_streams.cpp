#include "runtime/record/recorded_streams.h"

#include <string>

#include "profiler/cpu_stream.h"
#include "trace/track.h"

namespace pipetrace {

RecordedStreams addStreams(Recorder& recorder,
                           const std::function<std::unique_ptr<DeviceStream>()>& stream) {
  const auto add = [&](std::string_view lane) {
    return recorder.addStream(std::string(lane), stream());
  };
  RecordedStreams streams{.recorder = &recorder};
  streams.compute = add(kComputeLane);
  streams.send = {add(kSendForwardLane), add(kSendBackwardLane)};
  streams.recv = {add(kRecvForwardLane), add(kRecvBackwardLane)};
  return streams;
}

RecordedStreams addCpuStreams(Recorder& recorder) {
  const WallClock clock = recorder.isOn() ? recorder.clock() : WallClock();  // one for all lanes
  return addStreams(recorder, [&] { return std::make_unique<CpuStream>(clock); });
}

}  // namespace pipetrace
