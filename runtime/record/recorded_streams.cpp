#include "runtime/record/recorded_streams.h"

#include <string>

#include "profiler/cpu_stream.h"
#include "trace/track.h"

namespace pipetrace {
namespace {

StreamId addLane(Recorder& recorder, const std::function<std::unique_ptr<DeviceStream>()>& stream,
                 std::string_view lane) {
  return recorder.addStream(std::string(lane), stream());
}

}  // namespace

RecordedStreams addLines(Recorder& recorder,
                         const std::function<std::unique_ptr<DeviceStream>()>& stream,
                         const std::vector<int>& peers, bool oneForAll) {
  RecordedStreams streams{.recorder = &recorder};
  streams.compute = addLane(recorder, stream, kComputeLane);
  streams.reductions = addLane(recorder, stream, kReductionLane);
  for (const int peer : peers) {
    const bool isKnown = oneForAll && !streams.lines.empty();
    const std::string number = oneForAll ? "" : "_" + std::to_string(peer);
    streams.lines[peer] = isKnown ? streams.lines.begin()->second
                                  : addLane(recorder, stream, std::string(kLineLane) + number);
  }
  return streams;
}

RecordedStreams addStreams(Recorder& recorder,
                           const std::function<std::unique_ptr<DeviceStream>()>& stream) {
  const auto add = [&](std::string_view lane) { return addLane(recorder, stream, lane); };
  RecordedStreams streams{.recorder = &recorder};
  streams.compute = add(kComputeLane);
  streams.reductions = add(kReductionLane);
  streams.send = {add(kSendForwardLane), add(kSendBackwardLane)};
  streams.recv = {add(kRecvForwardLane), add(kRecvBackwardLane)};
  return streams;
}

RecordedStreams addCpuStreams(Recorder& recorder) {
  const WallClock clock = recorder.isOn() ? recorder.clock() : WallClock();  // one for all lanes
  return addStreams(recorder, [&] { return std::make_unique<CpuStream>(clock); });
}

}  // namespace pipetrace
