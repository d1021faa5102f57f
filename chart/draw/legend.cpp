#include "chart/draw/legend.h"

#include <algorithm>
#include <array>

#include "chart/draw/palette.h"

namespace pipetrace {
namespace {

constexpr int kAbsent = -1;

std::string labelOf(JobKind kind) {
  std::string label(logName(kind));
  std::replace(label.begin(), label.end(), '_', ' ');
  return label;
}

LegendEntry entryOf(JobKind kind, int chunk) {
  Event event;
  event.kind = kind;
  event.chunk = static_cast<std::int16_t>(chunk);
  LegendEntry entry{kind, labelOf(kind), jobColor(event), kind == JobKind::kBubble};
  if (chunk > 0) entry.label += ", chunk " + std::to_string(chunk);
  return entry;
}

}  // namespace

std::vector<LegendEntry> legendOf(const Timeline& timeline) {
  std::array<int, kJobKindCount> lastChunk{};
  lastChunk.fill(kAbsent);
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      int& last = lastChunk[static_cast<std::size_t>(event.kind)];
      last = std::max({last, 0, isCompute(event.kind) ? int{event.chunk} : 0});
    }
  }
  std::vector<LegendEntry> entries;
  for (int i = 0; i < kJobKindCount; ++i) {
    const int last = lastChunk[static_cast<std::size_t>(i)];
    if (last == kAbsent) continue;
    entries.push_back(entryOf(static_cast<JobKind>(i), 0));
    if (last > 0) entries.push_back(entryOf(static_cast<JobKind>(i), last));
  }
  return entries;
}

}  // namespace pipetrace
