#include "chart/draw/legend.h"

#include <algorithm>
#include <array>

#include "chart/text/bubble_text.h"

namespace pipetrace {
namespace {

constexpr int kAbsent = -1;

std::string labelOf(JobKind kind) {
  std::string label(logName(kind));
  std::replace(label.begin(), label.end(), '_', ' ');
  return label;
}

LegendEntry entryOf(JobKind kind, int chunk) {
  LegendEntry entry{.kind = kind, .label = labelOf(kind), .chunk = chunk};
  if (chunk > 0) entry.label += ", chunk " + std::to_string(chunk);
  return entry;
}

using Classes = std::array<bool, kBubbleClassCount>;

void addBubbles(std::vector<LegendEntry>& entries, const Classes& classes) {
  const std::size_t before = entries.size();
  for (int i = 0; i < kBubbleClassCount; ++i) {
    if (!classes[static_cast<std::size_t>(i)]) continue;
    const auto bubbleClass = static_cast<BubbleClass>(i);
    if (bubbleClass == BubbleClass::kUnknown || bubbleClass == BubbleClass::kNone) continue;
    if (entries.size() == before) {
      entries.push_back({.kind = JobKind::kBubble, .label = "bubbles:", .isHeading = true});
    }
    entries.push_back({.kind = JobKind::kBubble,
                       .label = bubbleClassWords(bubbleClass),
                       .bubbleClass = bubbleClass});
  }
  const bool hasUnknown = classes[static_cast<std::size_t>(BubbleClass::kUnknown)] ||
                          classes[static_cast<std::size_t>(BubbleClass::kNone)];
  if (!hasUnknown) return;
  entries.push_back(entryOf(JobKind::kBubble, 0));
  entries.back().bubbleClass = BubbleClass::kUnknown;
  if (entries.size() > before + 1) entries.back().label = bubbleClassWords(BubbleClass::kUnknown);
}

}  // namespace

std::vector<LegendEntry> legendOf(const Timeline& timeline) {
  std::array<int, kJobKindCount> lastChunk{};
  lastChunk.fill(kAbsent);
  Classes classes{};
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      int& last = lastChunk[static_cast<std::size_t>(event.kind)];
      last = std::max({last, 0, isCompute(event.kind) ? int{event.chunk} : 0});
      if (event.kind == JobKind::kBubble) {
        classes[static_cast<std::size_t>(event.bubbleClass)] = true;
      }
    }
  }
  std::vector<LegendEntry> entries;
  for (int i = 0; i < kJobKindCount; ++i) {
    const int last = lastChunk[static_cast<std::size_t>(i)];
    if (last == kAbsent || static_cast<JobKind>(i) == JobKind::kBubble) continue;
    entries.push_back(entryOf(static_cast<JobKind>(i), 0));
    if (last > 0) entries.push_back(entryOf(static_cast<JobKind>(i), last));
  }
  addBubbles(entries, classes);
  return entries;
}

std::vector<LegendEntry> withoutClasses(std::vector<LegendEntry> legend) {
  const auto removed = std::erase_if(
      legend, [](const LegendEntry& entry) { return entry.kind == JobKind::kBubble; });
  if (removed > 0) legend.push_back(entryOf(JobKind::kBubble, 0));
  return legend;
}

int chunksOf(const std::vector<LegendEntry>& legend) {
  int chunks = 1;
  for (const LegendEntry& entry : legend) chunks = std::max(chunks, entry.chunk + 1);
  return chunks;
}

}  // namespace pipetrace
