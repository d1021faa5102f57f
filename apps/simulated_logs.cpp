#include "apps/simulated_logs.h"

#include <filesystem>
#include <fstream>

#include "trace/log_format.h"
#include "trace/log_writer.h"

namespace pipetrace {
namespace {

JobLine jobLine(const Timeline& timeline, const Event& event) {
  JobLine line{.type = logName(event.kind),
               .number = event.number,
               .microBatch = event.microBatch,
               .begin = event.begin,
               .end = event.end,
               .id = event.job,
               .step = event.step,
               .stage = event.stage,
               .chunk = event.chunk};
  for (const Argument& argument : timeline.argumentsOf(event)) {
    line.action = timeline.strings[argument.text];
  }
  return line;
}

StreamLine streamLine(const Track& track, const Event& event) {
  return {.type = logName(event.kind),
          .microBatch = event.microBatch,
          .begin = event.begin,
          .end = event.end,
          .stream = track.lane,
          .peer = event.peer,
          .job = event.job,
          .step = event.step,
          .stage = event.stage,
          .chunk = event.chunk};
}

}  // namespace

void writeLogs(const Timeline& timeline, const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (const auto& [rank, info] : timeline.ranks) {
    LogWriter writer;
    std::string text;
    writer.appendMeta(text, info);
    for (const Track& track : timeline.tracks) {
      if (track.rank != rank) continue;
      for (const Event& event : track.events) {
        if (track.lane == kComputeLane) {
          writer.append(text, jobLine(timeline, event));
        } else {
          writer.append(text, streamLine(track, event));
        }
      }
    }
    writer.appendEnd(text, info);
    const std::string name = std::string(log_format::kFilePrefix) + std::to_string(rank);
    std::ofstream(std::filesystem::path(folder) / name, std::ios::binary | std::ios::app) << text;
  }
}

}  // namespace pipetrace
