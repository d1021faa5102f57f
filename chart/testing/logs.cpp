#include "chart/testing/logs.h"

#include <fstream>

#include "trace/log/log_format.h"
#include "trace/log/log_writer.h"

namespace pipetrace {
namespace {

void appendEvent(LogWriter& writer, std::string& out, const Track& track, const Event& e) {
  if (track.lane == kComputeLane) {
    JobLine line;
    line.type = logName(e.kind);
    line.number = line.microBatch = e.microBatch;
    line.begin = e.begin;
    line.end = e.end;
    line.id = e.job;
    line.step = e.step;
    line.stage = e.stage;
    line.chunk = e.chunk;
    line.stream = track.lane;
    writer.append(out, line);
    return;
  }
  StreamLine line;
  line.type = logName(e.kind);
  line.microBatch = e.microBatch;
  line.begin = e.begin;
  line.end = e.end;
  line.stream = track.lane;
  line.peer = e.peer;
  line.bytes = 1 << 20;
  line.job = e.job;
  line.step = e.step;
  writer.append(out, line);
}

}  // namespace

void writeTestLogs(const Timeline& timeline, const std::string& folder) {
  for (const auto& [rank, info] : timeline.ranks) {
    LogWriter writer;
    std::string out;
    writer.appendMeta(out, info);
    for (const Track& track : timeline.tracks) {
      if (track.rank != rank || track.lane == kBubbleLane) continue;
      for (const Event& event : track.events) appendEvent(writer, out, track, event);
    }
    RankInfo end = info;
    end.hasEnd = true;
    writer.appendEnd(out, end);
    std::ofstream(folder + "/" + std::string(log_format::kFilePrefix) + std::to_string(rank))
        << out;
  }
}

}  // namespace pipetrace
