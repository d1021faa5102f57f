#include "chart/search/exact_query.h"

#include <array>

#include "chart/search/job_matcher.h"
#include "chart/search/parse_query.h"
#include "trace/text/decimal_time.h"
#include "trace/timeline.h"

namespace pipetrace {
namespace {

/// Whether the query finds no other event of the rank.
bool isExact(const Timeline& timeline, const std::string& query, int rank, std::string_view lane,
             const Event& event) {
  JobMatcher matcher(timeline, parseQuery(query));
  std::size_t others = 0;
  for (const Track& track : tracksOf(timeline, rank)) {
    if (!matcher.allowsLane(rank, track.lane)) continue;
    for (const Event& each : track.events) {
      if (!matcher.matches(each)) continue;
      const bool isIt = &each == &event || (track.lane == lane && each.begin == event.begin &&
                                            each.end == event.end && each.job == event.job);
      if (!isIt && ++others > 0) return false;
    }
  }
  return true;
}

/// "401.5ms": the shortest number of milliseconds in the event, counted from `origin`.
std::string timeInside(const Event& event, Nanoseconds origin) {
  const Nanoseconds begin = event.begin - origin;
  const Nanoseconds middle = begin + event.duration() / 2;
  Nanoseconds time = begin;
  for (Nanoseconds unit = kNsPerSecond; unit > 0; unit /= 10) {
    const Nanoseconds rounded = middle / unit * unit;
    if (rounded < begin) continue;
    time = rounded;
    break;
  }
  std::string text;
  appendMilliseconds(text, time);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + "ms";
}

std::string quoted(std::string_view text) {
  std::string inside(text);
  std::erase(inside, '"');
  return '"' + inside + '"';
}

}  // namespace

std::string exactQuery(const Timeline& timeline, int rank, std::string_view lane,
                       const Event& event) {
  std::string query = "rank:" + std::to_string(rank);
  const auto add = [&query](const char* key, std::int64_t number) {
    if (number >= 0) query += " " + std::string(key) + ":" + std::to_string(number);
  };
  const std::string at = " at:" + timeInside(event, beginOf(timeline));
  add("step", event.step);
  if (event.kind == JobKind::kBubble) {
    const std::string name(bubbleClassName(event.bubbleClass));
    return query + (name.empty() ? " kind:bubble" : " class:" + name) + at;
  }
  query += " kind:" + std::string(logName(event.kind));
  add("mb", event.microBatch);
  const auto isDone = [&] { return isExact(timeline, query, rank, lane, event); };
  if (isDone()) return query;
  add("stage", event.stage);
  if (isDone()) return query;
  add("id", event.job);
  if (isDone()) return query;
  query += at;
  if (isDone()) return query;
  query += " lane:" + quoted(lane);
  if (isDone() || event.name == 0) return query;
  return query + " name:" + quoted(timeline.strings[event.name]);
}

}  // namespace pipetrace
