#include "runtime/record/recorded_lanes.h"

#include <memory>
#include <string>

#include "profiler/cpu_stream.h"
#include "trace/track.h"

namespace pipetrace {

RecordedLanes addCpuLanes(Recorder& recorder) {
  const WallClock clock = recorder.isOn() ? recorder.clock() : WallClock();  // one for all lanes
  const auto add = [&](std::string_view lane) {
    return recorder.addStream(std::string(lane), std::make_unique<CpuStream>(clock));
  };
  RecordedLanes lanes{.recorder = &recorder};
  lanes.compute = add(kComputeLane);
  lanes.send = add(kSendLane);
  lanes.recv = add(kRecvLane);
  return lanes;
}

}  // namespace pipetrace
