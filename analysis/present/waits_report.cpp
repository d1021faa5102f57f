#include "analysis/present/waits_report.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/present/text_table.h"
#include "chart/text/bubble_text.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

constexpr std::size_t kMostWaits = 8;

/// The time that one rank waits for another by one cause.
struct Wait {
  int rank = 0;
  int culprit = 0;
  BubbleClass bubbleClass = BubbleClass::kUnknown;
  Nanoseconds time = 0;
  std::string longestBy;  ///< the culprit's job
};

std::vector<Wait> waitsIn(const Timeline& timeline, Timeline::Span span) {
  std::map<std::tuple<int, int, BubbleClass>, std::map<std::string, Nanoseconds>> byJob;
  for (const Track& track : timeline.tracks) {
    if (track.lane != kBubbleLane) continue;
    for (const Event& bubble : track.events) {
      const Nanoseconds time = std::min(bubble.end, span.end) - std::max(bubble.begin, span.begin);
      const bool isOwnSync = bubble.bubbleClass == BubbleClass::kSync && bubble.peer == track.rank;
      if (time <= 0 || bubble.peer < 0 || isOwnSync) continue;
      byJob[{track.rank, bubble.peer, bubble.bubbleClass}][BubbleText(timeline, bubble).job()] +=
          time;
    }
  }
  std::vector<Wait> waits;
  for (const auto& [key, jobs] : byJob) {
    Wait& wait = waits.emplace_back();
    std::tie(wait.rank, wait.culprit, wait.bubbleClass) = key;
    Nanoseconds longest = 0;
    for (const auto& [job, time] : jobs) {
      wait.time += time;
      if (time <= longest) continue;
      longest = time;
      wait.longestBy = job;
    }
  }
  std::stable_sort(waits.begin(), waits.end(),
                   [](const Wait& a, const Wait& b) { return a.time > b.time; });
  return waits;
}

}  // namespace

std::string waitsReport(const Timeline& timeline, Timeline::Span span) {
  const std::vector<Wait> waits = waitsIn(timeline, span);
  if (waits.empty()) return {};
  TextTable table({"waits", "for", "time", "cause", "longest for"});
  const auto name = [](int rank) { return "rank " + std::to_string(rank); };
  for (std::size_t i = 0; i < std::min(kMostWaits, waits.size()); ++i) {
    const Wait& wait = waits[i];
    table.addRow({name(wait.rank), name(wait.culprit), formatDuration(wait.time),
                  bubbleClassWords(wait.bubbleClass), wait.longestBy});
  }
  std::string text = table.toText();
  if (waits.size() > kMostWaits) {
    text += "and " + countText(waits.size() - kMostWaits, "more", "more, each shorter") +
            "; pipe-trace report has all of a run\n";
  }
  return text;
}

}  // namespace pipetrace
