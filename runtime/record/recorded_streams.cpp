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
                         CommStreams lines, const std::vector<MessageEnd>& ends) {
  RecordedStreams streams{.recorder = &recorder, .lines = lines};
  streams.compute = addLane(recorder, stream, kComputeLane);
  streams.reductions = addLane(recorder, stream, kReductionLane);
  for (const MessageEnd& end : ends) {
    const int line = lineOf(lines, end);
    if (streams.ofLine.contains(line)) continue;
    streams.ofLine[line] = addLane(recorder, stream, laneOf(lines, end));
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
