#include "runtime/record/recorded_lanes.h"

#include <string>

#include "profiler/cpu_stream.h"
#include "trace/track.h"

namespace pipetrace {

RecordedLanes addLanes(Recorder& recorder,
                       const std::function<std::unique_ptr<DeviceStream>()>& stream) {
  const auto add = [&](std::string_view lane) {
    return recorder.addStream(std::string(lane), stream());
  };
  RecordedLanes lanes{.recorder = &recorder};
  lanes.compute = add(kComputeLane);
  lanes.send = {add(kSendForwardLane), add(kSendBackwardLane)};
  lanes.recv = {add(kRecvForwardLane), add(kRecvBackwardLane)};
  return lanes;
}

RecordedLanes addCpuLanes(Recorder& recorder) {
  const WallClock clock = recorder.isOn() ? recorder.clock() : WallClock();  // one for all lanes
  return addLanes(recorder, [&] { return std::make_unique<CpuStream>(clock); });
}

}  // namespace pipetrace
