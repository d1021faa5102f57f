#include "parser/foreign/logs/pipeline_logger_writer.h"

#include <algorithm>
#include <filesystem>

#include "parser/json/text_buffer.h"

namespace pipetrace {
namespace {

bool isWritten(const Event& event) {
  if (event.kind == JobKind::kBubble || event.kind == JobKind::kKernel) return false;
  return event.kind != JobKind::kOther || event.name != 0;
}

/// Seconds with nine decimals.
void addSeconds(TextBuffer& out, Nanoseconds time) {
  auto magnitude = static_cast<std::uint64_t>(time);
  if (time < 0) {
    out.add('-');
    magnitude = 0 - magnitude;
  }
  out.addNumber(static_cast<std::int64_t>(magnitude / kNsPerSecond));
  const std::string decimals = std::to_string(magnitude % kNsPerSecond);
  out.add('.');
  out.add(std::string(9 - decimals.size(), '0'));
  out.add(decimals);
}

}  // namespace

std::string pipelineLoggerPath(const std::string& folder, int rank) {
  return (std::filesystem::path(folder) / ("pipeline_rank" + std::to_string(rank) + ".json"))
      .string();
}

PipelineLoggerWriter::PipelineLoggerWriter(const Timeline& timeline, int rank)
    : timeline_(timeline), rank_(rank) {
  for (const Track& track : timeline.tracks) {
    if (track.rank != rank) continue;
    for (const Event& event : track.events) {
      if (isWritten(event)) events_.push_back(&event);
    }
  }
  std::stable_sort(events_.begin(), events_.end(),
                   [](const Event* a, const Event* b) { return startsBefore(*a, *b); });
}

void PipelineLoggerWriter::write(OutputFile& out) const {
  TextBuffer line;
  const auto addEntry = [&](const Event& event, std::string_view what, Nanoseconds time) {
    const std::string_view name = event.kind == JobKind::kOther
                                      ? std::string_view(timeline_.strings[event.name])
                                      : logName(event.kind);
    line.add("{\"rank\":");
    line.addNumber(rank_);
    line.add(",\"event\":");
    line.addJson(std::string(name) + std::string(what));
    if (event.microBatch != kNotGiven) {
      line.add(",\"minibatch\":");
      line.addNumber(event.microBatch);
    }
    line.add(",\"time\":");
    addSeconds(line, time);
    line.add("}\n");
  };
  // The end right behind the start: events of one name and micro-batch may overlap.
  for (const Event* const event : events_) {
    line.clear();
    addEntry(*event, "_start", event->begin);
    addEntry(*event, "_end", event->end);
    out.write(line.text());
  }
}

}  // namespace pipetrace
