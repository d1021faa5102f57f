#include "parser/chrome_writer.h"

#include <cmath>
#include <set>
#include <string>

#include "parser/chrome_event_text.h"
#include "parser/chrome_flows.h"
#include "parser/chrome_format.h"
#include "parser/chrome_lanes.h"
#include "parser/chrome_metadata.h"
#include "parser/json_string.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

namespace cf = chrome_format;

/// Writes the elements of the traceEvents array, one a line.
class EventArray {
 public:
  explicit EventArray(OutputFile& out) : out_(out) { text_.reserve(2 * kChunk); }

  /// Where to append the next element.
  std::string& next() {
    if (text_.size() > kChunk) flush();
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    return text_;
  }

  void flush() {
    out_.write(text_);
    text_.clear();
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 16;

  OutputFile& out_;
  std::string text_;
  bool first_ = true;
};

std::string field(std::string_view key, std::string_view text) {
  std::string json;
  appendJsonString(json, key);
  json += ':';
  appendJsonString(json, text);
  return json;
}

std::string sortIndex(int index) { return "\"sort_index\":" + std::to_string(index); }

/// Every rank that anything is known of.
std::set<int> ranksOf(const Timeline& timeline) {
  std::set<int> ranks;
  for (const auto& [rank, info] : timeline.ranks) ranks.insert(rank);
  for (const Track& track : timeline.tracks) ranks.insert(track.rank);
  for (const CounterSeries& series : timeline.counters) ranks.insert(series.rank);
  return ranks;
}

void writeNames(const Timeline& timeline, const ChromeLanes& lanes, EventArray& array) {
  for (const int rank : ranksOf(timeline)) {
    const std::int64_t pid = ChromeLanes::pidOf(rank);
    const std::string name = field("name", "rank " + std::to_string(rank));
    appendChromeName(array.next(), "process_name", pid, -1, name);
    appendChromeName(array.next(), "process_sort_index", pid, -1, sortIndex(rank));
    const auto info = timeline.ranks.find(rank);
    if (info == timeline.ranks.end()) continue;
    std::string label = info->second.host;
    if (!label.empty() && !info->second.device.empty()) label += " ";
    label += info->second.device;
    if (label.empty()) continue;
    appendChromeName(array.next(), "process_labels", pid, -1, field("labels", label));
  }
  for (const ChromeRow& row : lanes.rows()) {
    appendChromeName(array.next(), "thread_name", row.pid, row.tid,
                     field("name", row.name) + "," + field(cf::kLane, row.lane));
    appendChromeName(array.next(), "thread_sort_index", row.pid, row.tid, sortIndex(row.sortIndex));
  }
}

/// After all slices, so that each end finds its slice also where both have the same time.
std::int64_t writeArrows(const Timeline& timeline, const ChromeLanes& lanes, Nanoseconds origin,
                         EventArray& array) {
  const auto eventOf = [&](ChromeArrow::Slice s) -> const Event& {
    return timeline.tracks[s.track].events[s.event];
  };
  const auto rowOf = [&](ChromeArrow::Slice s) -> const ChromeRow& {
    return lanes.row(s.track, s.event);
  };
  std::int64_t id = 0;
  for (const ChromeArrow& arrow : findArrows(timeline)) {
    appendChromeArrow(array.next(), static_cast<std::uint64_t>(++id), eventOf(arrow.from),
                      rowOf(arrow.from), eventOf(arrow.to), rowOf(arrow.to), origin);
  }
  return id;
}

void count(ChromeSummary& summary, const Track& track, const Event& event) {
  if (event.kind == JobKind::kBubble) {
    ++summary.bubbles;
  } else if (track.lane == kComputeLane) {
    ++summary.jobs;
  } else {
    ++summary.transfers;
  }
}

/// First and last instant. Throws when their distance is no length of time that can be written.
Timeline::Span spanOf(const Timeline& timeline) {
  const Timeline::Span span = timeline.span();
  Nanoseconds length = 0;
  if (__builtin_sub_overflow(span.end, span.begin, &length)) {
    throw Error(
        "cannot write a profile that spans more than 292 years: the clock of one of its logs is "
        "wrong; leave that log out");
  }
  return span;
}

}  // namespace

ChromeSummary writeChromeJson(const Timeline& timeline, const ChromeOptions& options,
                              OutputFile& out) {
  const Nanoseconds origin = spanOf(timeline).begin;
  const ChromeLanes lanes(timeline);
  ChromeSummary summary;

  std::string head = "{\"displayTimeUnit\":\"ns\",\"" + std::string(cf::kOtherData) + "\":{\"" +
                     std::string(cf::kOurs) + "\":";
  appendChromeMetadata(head, timeline, origin);
  out.write(head + "},\"" + std::string(cf::kTraceEvents) + "\":[");

  EventArray array(out);
  writeNames(timeline, lanes, array);
  for (std::size_t t = 0; t < timeline.tracks.size(); ++t) {
    const Track& track = timeline.tracks[t];
    for (std::size_t e = 0; e < track.events.size(); ++e) {
      count(summary, track, track.events[e]);
      appendChromeEvent(array.next(), timeline, track.events[e], lanes.row(t, e), origin);
    }
  }
  for (const CounterSeries& series : timeline.counters) {
    for (const CounterSample& sample : series.samples) {
      if (!std::isfinite(sample.value)) continue;
      ++summary.counters;
      appendChromeSample(array.next(), series, sample, origin);
    }
  }
  if (options.flows) summary.arrows = writeArrows(timeline, lanes, origin, array);
  array.flush();
  out.write("\n]}\n");
  return summary;
}

}  // namespace pipetrace
