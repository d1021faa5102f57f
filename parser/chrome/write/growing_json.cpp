#include "parser/chrome/write/growing_json.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "parser/chrome/format.h"
#include "parser/chrome/write/event_text.h"
#include "parser/json/json_string.h"
#include "parser/profile/arrow.h"
#include "parser/profile/common_format.h"
#include "parser/profile/profile_metadata.h"
#include "parser/trace_reader.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

namespace cf = common_format;

void addNameElement(TextBuffer& out, std::string_view what, const ViewerRow& row,
                    const std::string& arguments, bool isOfProcess = false) {
  out.add(",\n");
  addChromeName(out, what, row.pid, isOfProcess ? -1 : row.tid, arguments);
}

}  // namespace

GrowingChromeJson::GrowingChromeJson(std::string path) : path_(std::move(path)) {
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) fail("open", errno);
  append("[");
}

GrowingChromeJson::~GrowingChromeJson() {
  if (fd_ >= 0) ::close(fd_);
}

void GrowingChromeJson::append(std::string_view text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t n = ::write(fd_, rest.data(), rest.size());
    if (n >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      const int error = errno;
      // Half an event would cost the reader that event; no text costs nothing.
      [[maybe_unused]] const int cut = ::ftruncate(fd_, size_);
      fail("write", error);
    }
  }
  size_ += static_cast<std::int64_t>(text.size());
}

void GrowingChromeJson::fail(const char* what, int error) {
  throw Error("cannot " + std::string(what) + " " + path_ + ": " + std::strerror(error));
}

void GrowingChromeJson::takeOrigin(const Timeline& timeline) {
  if (hasOrigin_) return;
  // Perfetto drops times below 0, and events that are logged late may be earlier than all before
  // them.
  constexpr Nanoseconds kRoomForLate = 60 * kNsPerSecond;
  const Nanoseconds begin = timeline.span().begin;
  origin_ = begin < kNsMin + kRoomForLate ? kNsMin : begin - kRoomForLate;
  hasOrigin_ = true;
}

/// Names a process again when more is known of its rank: the last name counts.
void GrowingChromeJson::nameProcesses(const Timeline& timeline, TextBuffer& names) {
  for (const auto& [rank, info] : timeline.ranks) {
    Timeline only;
    only.ranks[rank] = info;
    std::string ours;
    appendProfileMetadata(ours, only, origin_);
    std::string& said = processes_[rank];
    if (said == ours) continue;
    const bool isNew = said.empty();
    said = ours;
    const ViewerRow process{.pid = ViewerRows::pidOf(rank)};
    addNameElement(
        names, "process_name", process,
        chromeField("name", "rank " + std::to_string(rank)) + "," + chromeField(cf::kOurs, ours),
        true);
    if (isNew) addNameElement(names, "process_sort_index", process, chromeSortIndex(rank), true);
  }
}

/// The first row of the lane that is free when the event begins; a new one if none is.
std::size_t GrowingChromeJson::rowFor(const Track& track, const Event& event, TextBuffer& names) {
  std::vector<std::size_t>& rows = rowsOfLane_[{track.rank, track.lane}];
  auto found = std::find_if(rows.begin(), rows.end(),
                            [&](std::size_t row) { return rows_[row].free <= event.begin; });
  if (found == rows.end()) {
    ViewerRow row;
    row.pid = ViewerRows::pidOf(track.rank);
    // Above every possible pid, since it is not known which ranks will come.
    constexpr std::int64_t kFirstTid = std::int64_t{kHighestRank} + 2;
    const bool isMain = track.lane == kComputeLane && rows.empty();
    row.tid = isMain ? row.pid : kFirstTid + static_cast<std::int64_t>(rows_.size());
    row.lane = track.lane;
    row.name = track.lane;
    if (!rows.empty()) row.name += " (" + std::to_string(rows.size() + 1) + ")";
    // Compute first, then bubbles, then the others as they come.
    const bool isBubbles = track.lane == kBubbleLane;
    row.sortIndex = isMain ? 0 : isBubbles ? 1 : 2 + static_cast<int>(rows_.size());
    addNameElement(
        names, "thread_name", row,
        chromeField("name", row.name) + "," + chromeField(chrome_format::kLane, row.lane));
    addNameElement(names, "thread_sort_index", row, chromeSortIndex(row.sortIndex));
    rows.push_back(rows_.size());
    rows_.push_back({.row = std::move(row)});
    found = rows.end() - 1;
  }
  // An event without length takes 1 ns, as in ViewerRows.
  rows_[*found].free = event.begin == event.end && event.end < kNsMax ? event.end + 1 : event.end;
  return *found;
}

ViewerRows GrowingChromeJson::placeOn(const Timeline& timeline, TextBuffer& names) {
  std::vector<std::vector<std::uint32_t>> places;
  for (const Track& track : timeline.tracks) {
    auto& ofTrack = places.emplace_back();
    for (const Event& event : track.events) {
      ofTrack.push_back(static_cast<std::uint32_t>(rowFor(track, event, names)));
    }
  }
  std::vector<ViewerRow> rows;
  for (const Row& row : rows_) rows.push_back(row.row);
  return {std::move(rows), std::move(places)};
}

void GrowingChromeJson::count(const Timeline& timeline) {
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) summary_.add(track, event);
  }
}

void GrowingChromeJson::add(const Timeline& all, bool flows) {
  if (all.eventCount() == 0 && all.counters.empty()) return;
  takeOrigin(all);
  Timeline timeline = all;
  for (Track& track : timeline.tracks) {
    tooEarly_ += static_cast<std::int64_t>(
        std::erase_if(track.events, [&](const Event& event) { return event.begin < origin_; }));
  }
  TextBuffer text;
  nameProcesses(timeline, text);
  const ViewerRows rows = placeOn(timeline, text);
  const ChromeEventText elements(timeline, rows, origin_);
  for (std::size_t t = 0; t < timeline.tracks.size(); ++t) {
    for (std::size_t e = 0; e < timeline.tracks[t].events.size(); ++e) {
      text.add(",\n");
      elements.addEvent(text, t, e);
    }
  }
  for (const CounterSeries& series : timeline.counters) {
    for (const CounterSample& sample : series.samples) {
      if (!std::isfinite(sample.value)) continue;
      if (sample.time < origin_) {
        ++tooEarly_;
        continue;
      }
      text.add(",\n");
      elements.addSample(text, series, sample);
      ++summary_.counters;
    }
  }
  if (flows) {
    const auto slice = [&](Arrow::Slice s) -> ChromeEventText::Slice {
      return {timeline.tracks[s.track].events[s.event], rows.row(s.track, s.event)};
    };
    for (const Arrow& arrow : findArrows(timeline)) {
      text.add(",\n");
      elements.addArrow(text, nextArrow_++, slice(arrow.from), slice(arrow.to));
      ++summary_.arrows;
    }
  }
  count(timeline);
  std::string_view bytes = text.text();
  if (isEmpty_) bytes.remove_prefix(1);  // the comma
  append(bytes);
  isEmpty_ = false;
}

void GrowingChromeJson::close() {
  append("\n]\n");
  if (::fsync(fd_) != 0 && errno != EINVAL && errno != EROFS) fail("sync", errno);
  if (::close(std::exchange(fd_, -1)) != 0) fail("close", errno);
}

}  // namespace pipetrace
