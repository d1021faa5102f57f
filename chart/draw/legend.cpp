#include "chart/draw/legend.h"

#include <algorithm>
#include <array>

#include "chart/text/bubble_text.h"
#include "trace/threads/in_parallel.h"

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

using Classes = std::array<char, kBubbleClassCount>;  // whether there is one of the class

void addBubbles(std::vector<LegendEntry>& entries, const Classes& classes) {
  const std::size_t before = entries.size();
  for (int i = 0; i < kBubbleClassCount; ++i) {
    if (classes[static_cast<std::size_t>(i)] == 0) continue;
    const auto bubbleClass = static_cast<BubbleClass>(i);
    if (bubbleClass == BubbleClass::kUnknown || bubbleClass == BubbleClass::kNone) continue;
    if (entries.size() == before) {
      entries.push_back({.kind = JobKind::kBubble, .label = "bubbles:", .isHeading = true});
    }
    entries.push_back({.kind = JobKind::kBubble,
                       .label = bubbleClassWords(bubbleClass),
                       .bubbleClass = bubbleClass});
  }
  const bool hasUnknown = classes[static_cast<std::size_t>(BubbleClass::kUnknown)] != 0 ||
                          classes[static_cast<std::size_t>(BubbleClass::kNone)] != 0;
  if (!hasUnknown) return;
  entries.push_back(entryOf(JobKind::kBubble, 0));
  entries.back().bubbleClass = BubbleClass::kUnknown;
  if (entries.size() > before + 1) entries.back().label = bubbleClassWords(BubbleClass::kUnknown);
}

/// The kinds and classes of some events.
struct Contents {
  std::array<int, kJobKindCount> lastChunk{};
  Classes classes{};

  Contents() { lastChunk.fill(kAbsent); }
  void add(const std::vector<Event>& events) {
    for (const Event& event : events) {
      int& last = lastChunk[static_cast<std::size_t>(event.kind)];
      last = std::max({last, 0, isCompute(event.kind) ? int{event.chunk} : 0});
      if (event.kind == JobKind::kBubble) {
        classes[static_cast<std::size_t>(event.bubbleClass)] = 1;
      }
    }
  }
  void add(const Contents& other) {
    for (std::size_t i = 0; i < lastChunk.size(); ++i) {
      lastChunk[i] = std::max(lastChunk[i], other.lastChunk[i]);
    }
    for (std::size_t i = 0; i < classes.size(); ++i) classes[i] |= other.classes[i];
  }
};

Contents contentsOf(std::span<const Track> tracks) {
  std::vector<Contents> parts(tracks.size());
  inParallel(0, tracks.size(), [&](std::size_t i) { parts[i].add(tracks[i].events); });
  Contents all;
  for (const Contents& part : parts) all.add(part);
  return all;
}

}  // namespace

std::vector<LegendEntry> legendOf(const Timeline& timeline) {
  const Contents contents = contentsOf(timeline.tracks);
  std::vector<LegendEntry> entries;
  for (int i = 0; i < kJobKindCount; ++i) {
    const int last = contents.lastChunk[static_cast<std::size_t>(i)];
    if (last == kAbsent || static_cast<JobKind>(i) == JobKind::kBubble) continue;
    entries.push_back(entryOf(static_cast<JobKind>(i), 0));
    if (last > 0) entries.push_back(entryOf(static_cast<JobKind>(i), last));
  }
  addBubbles(entries, contents.classes);
  return entries;
}

std::vector<LegendEntry> legendOfBubbles(std::span<const Track> bubbles) {
  std::vector<LegendEntry> entries;
  addBubbles(entries, contentsOf(bubbles).classes);
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
