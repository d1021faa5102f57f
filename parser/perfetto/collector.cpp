#include "parser/perfetto/collector.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "parser/foreign/names/foreign_names.h"
#include "parser/perfetto/format.h"
#include "parser/perfetto/wire.h"
#include "parser/profile/common_format.h"
#include "trace/text/utf8.h"

namespace pipetrace {
namespace {

namespace pf = perfetto_format;

/// No trace nests its tracks deeper, and a ring of parents ends here.
constexpr int kDeepest = 64;

void readCounter(std::string_view message, PerfettoTrack& track) {
  track.isCounter = true;
  WireFields fields(message);
  for (WireField field; fields.next(field);) {
    if (field.isVarint(pf::counter::kUnit) && field.value == pf::counter::kBytes) {
      track.unit = "bytes";
    }
    if (field.isBytesOf(pf::counter::kUnitName)) track.unit = toUtf8(field.bytes);
    if (field.isVarint(pf::counter::kMultiplier)) track.multiplier = field.integer();
    if (field.isVarint(pf::counter::kIncremental)) track.isIncremental = field.value != 0;
  }
}

void readProcess(std::string_view message, PerfettoTrack& track) {
  track.pid = 0;
  WireFields fields(message);
  for (WireField field; fields.next(field);) {
    if (field.isVarint(pf::process::kPid)) track.pid = field.integer();
    if (field.isBytesOf(pf::process::kName)) track.processName = toUtf8(field.bytes);
  }
}

void readThread(std::string_view message, PerfettoTrack& track) {
  track.tid = 0;
  WireFields fields(message);
  for (WireField field; fields.next(field);) {
    if (field.isVarint(pf::thread::kPid)) track.pid = field.integer();
    if (field.isVarint(pf::thread::kTid)) track.tid = field.integer();
    if (field.isBytesOf(pf::thread::kName)) track.threadName = toUtf8(field.bytes);
  }
}

/// Reads the text of our list of lanes; nothing when it is no such list.
std::map<std::uint64_t, std::pair<int, std::string>> readLanes(std::string_view text) {
  std::map<std::uint64_t, std::pair<int, std::string>> lanes;
  const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_array()) return lanes;
  for (const auto& entry : json) {
    const bool isLane = entry.is_array() && entry.size() == 3 && entry[0].is_number_unsigned() &&
                        entry[1].is_number_unsigned() && entry[2].is_string();
    if (!isLane || entry[1].get<std::uint64_t>() > std::uint64_t{kHighestRank}) continue;
    lanes[entry[0].get<std::uint64_t>()] = {entry[1].get<int>(), entry[2].get<std::string>()};
  }
  return lanes;
}

}  // namespace

void PerfettoCollector::complain(const char* message, const char* advice, std::int64_t count) {
  diagnostics_.add({.file = file_, .message = message, .advice = advice, .count = count});
}

void PerfettoCollector::addDescriptor(std::string_view message) {
  std::uint64_t uuid = 0;
  PerfettoTrack track;
  WireFields fields(message);
  for (WireField field; fields.next(field);) {
    if (field.isVarint(pf::track::kUuid)) uuid = field.value;
    if (field.isVarint(pf::track::kParent)) track.parent = field.value;
    if (field.isVarint(pf::track::kOrderRank)) track.orderRank = field.integer();
    if (field.isBytesOf(pf::track::kName) || field.isBytesOf(pf::track::kStaticName)) {
      track.name = toUtf8(field.bytes);
    }
    if (field.isBytesOf(pf::track::kProcess)) readProcess(field.bytes, track);
    if (field.isBytesOf(pf::track::kThread)) readThread(field.bytes, track);
    if (field.isBytesOf(pf::track::kCounter)) readCounter(field.bytes, track);
  }
  tracks_[uuid] = std::move(track);
}

void PerfettoCollector::addMetadata(std::string_view message) {
  WireFields bundle(message);
  for (WireField field; bundle.next(field);) {
    if (!field.isBytesOf(pf::metadata::kEntry)) continue;
    std::string_view name;
    std::string_view text;
    WireFields entry(field.bytes);
    for (WireField part; entry.next(part);) {
      if (part.isBytesOf(pf::metadata::kName)) name = part.bytes;
      if (part.isBytesOf(pf::metadata::kText)) text = part.bytes;
    }
    if (name == pf::metadata::kOurs) {
      const std::string otherData =
          "{\"" + std::string(common_format::kOurs) + "\":" + std::string(text) + "}";
      if (auto metadata = readProfileMetadata(otherData)) metadata_ = std::move(metadata);
    } else if (name == pf::metadata::kLanes) {
      for (auto& [track, lane] : readLanes(text)) places_[track] = {lane.first, lane.second};
    }
  }
}

void PerfettoCollector::add(std::uint64_t track, const PerfettoEvent& event, Nanoseconds time) {
  if (lastRow_ == nullptr || track != lastTrack_) {
    lastTrack_ = track;
    lastRow_ = &rows_[track];
  }
  Row& row = *lastRow_;
  if (event.type == pf::event::kCounter) {
    const auto found = tracks_.find(track);
    const PerfettoTrack* counter = found == tracks_.end() ? nullptr : &found->second;
    double value = event.value;
    if (counter != nullptr) value *= static_cast<double>(counter->multiplier);
    if (counter != nullptr && counter->isIncremental) value = row.level += value;
    row.samples.push_back({time, value});
  } else if (event.type == pf::event::kBegin) {
    row.edges.push_back({time, static_cast<std::uint32_t>(row.events.size()), true});
    row.events.push_back(event.event);
    row.events.back().begin = row.events.back().end = time;
  } else {
    const Event& end = event.event;
    const bool says = end.argumentCount > 0 || end.microBatch != kNotGiven ||
                      end.step != kNotGiven || end.stage != kNotGiven || end.job != kNotGiven;
    row.edges.push_back({time, says ? static_cast<std::uint32_t>(row.ends.size()) : kNothing});
    if (says) row.ends.push_back(end);
  }
}

void PerfettoCollector::matchEdges(Row& row) {
  const auto open = matchSlices(
      row.edges,
      [&](const SliceEdge& begin, const SliceEdge& end) {
        const Event* said = end.index == kNothing ? nullptr : &row.ends[end.index];
        endSlice(row.events[begin.index], end.time, said, timeline_);
      },
      [&](const SliceEdge&) { complain("an end has no begin before it and was left out"); });
  for (const SliceEdge& begin : open) {
    complain("a begin has no end; it is taken to last until the end of its track",
             "the recording was stopped in the middle of it");
    endSlice(row.events[begin.index], row.edges.back().time, nullptr, timeline_);
  }
  row.edges = {};
}

void PerfettoCollector::shift(Row& row, Nanoseconds origin) {
  const auto isOut = [&](Event& event) {
    return __builtin_add_overflow(event.begin, origin, &event.begin) ||
           __builtin_add_overflow(event.end, origin, &event.end);
  };
  const std::size_t before = row.events.size() + row.samples.size();
  row.events.erase(std::remove_if(row.events.begin(), row.events.end(), isOut), row.events.end());
  row.samples.erase(std::remove_if(row.samples.begin(), row.samples.end(),
                                   [&](CounterSample& sample) {
                                     return __builtin_add_overflow(sample.time, origin,
                                                                   &sample.time);
                                   }),
                    row.samples.end());
  const std::size_t lost = before - row.events.size() - row.samples.size();
  if (lost > 0) {
    complain("an event has no time that can be used and was left out", "",
             static_cast<std::int64_t>(lost));
  }
}

std::int64_t PerfettoCollector::move(Row& row, const Place& place, const std::string& unit,
                                     Counters& counters) {
  if (!row.samples.empty()) {
    CounterSeries& series = counters[{place.rank, place.name}];
    series.rank = place.rank;
    series.name = place.name;
    if (!unit.empty()) series.unit = unit;
    series.samples.insert(series.samples.end(), row.samples.begin(), row.samples.end());
  }
  const auto count = static_cast<std::int64_t>(row.events.size());
  if (count > 0) {
    std::vector<Event>& target = timeline_.track(place.rank, place.name).events;
    if (target.empty()) {
      target = std::move(row.events);
    } else {
      target.insert(target.end(), row.events.begin(), row.events.end());
    }
  }
  row = {};
  return count;
}

void PerfettoCollector::addCounters(Counters& counters) {
  for (auto& [key, series] : counters) {
    timeline_.ranks[series.rank].rank = series.rank;
    timeline_.counters.push_back(std::move(series));
  }
}

std::int64_t PerfettoCollector::finishOurs() {
  if (metadata_->format > common_format::kVersion) {
    complain("the profile was written in a newer format than this program knows");
  }
  for (const auto& [rank, info] : metadata_->ranks) {
    if (timeline_.ranks.contains(rank)) {
      complain("a rank of it was read from another file already; the events are put together",
               "give the files of one run only");
    }
    timeline_.ranks[rank] = info;
  }
  Counters counters;
  for (CounterSeries& series : metadata_->counters) {
    counters[{series.rank, series.name}] = std::move(series);
  }
  std::int64_t count = 0;
  for (const auto& [track, place] : places_) {
    const auto found = tracks_.find(track);
    const bool isCounter = found != tracks_.end() && found->second.isCounter;
    if (!isCounter) timeline_.track(place.rank, place.name);  // also one without events
  }
  for (auto& [track, row] : rows_) {
    matchEdges(row);
    shift(row, metadata_->origin);
    const auto place = places_.find(track);
    if (place != places_.end()) {
      count += move(row, place->second, "", counters);
    } else {
      complain("an event on a track that belongs to no rank was left out", "",
               static_cast<std::int64_t>(row.events.size() + row.samples.size()));
    }
  }
  for (auto& [key, series] : counters) timeline_.counters.push_back(std::move(series));
  return count;
}

/// The process of a track, or else its topmost track; a lone track belongs to the trace.
PerfettoCollector::GroupKey PerfettoCollector::groupOf(std::uint64_t uuid, Group& group) const {
  std::uint64_t at = uuid;
  for (int depth = 0; depth < kDeepest; ++depth) {
    const auto found = tracks_.find(at);
    if (found == tracks_.end()) break;
    const PerfettoTrack& track = found->second;
    if (track.pid) {
      group.name = track.processName;
      if (!track.tid) group.orderRank = track.orderRank;
      return {0, *track.pid};
    }
    if (track.parent == 0 && at != uuid) {
      group.name = track.name;
      group.orderRank = track.orderRank;
      return {1, static_cast<std::int64_t>(at)};
    }
    if (track.parent == 0) break;
    at = track.parent;
  }
  group.name = "trace";
  return {2, 0};
}

std::string PerfettoCollector::laneOf(std::uint64_t uuid) const {
  const auto found = tracks_.find(uuid);
  if (found == tracks_.end()) return uuid == 0 ? "trace" : "track " + std::to_string(uuid);
  const PerfettoTrack& track = found->second;
  if (!track.threadName.empty()) return track.threadName;
  if (!track.name.empty()) return track.name;
  if (track.tid) return "thread " + std::to_string(*track.tid);
  return track.pid ? "process" : "track " + std::to_string(uuid);
}

std::int64_t PerfettoCollector::finishForeign(const ReadRequest& request) {
  int nextRank = request.nextRank;
  ForeignNames jobNames(request.kinds, timeline_);
  std::map<GroupKey, Group> groups;
  for (auto& [uuid, row] : rows_) {
    matchEdges(row);
    for (Event& event : row.events) jobNames.describe(event);
    if (row.events.empty() && row.samples.empty()) continue;
    Group found;
    Group& group = groups[groupOf(uuid, found)];
    if (group.name.empty()) group.name = found.name;
    if (found.orderRank != 0) group.orderRank = found.orderRank;
    group.tracks.push_back(uuid);
  }
  // The name of a process may stand on only one of its tracks.
  for (const auto& [uuid, track] : tracks_) {
    if (!track.pid || track.processName.empty()) continue;
    const auto group = groups.find({0, *track.pid});
    if (group != groups.end()) group->second.name = track.processName;
  }
  std::vector<std::pair<const GroupKey, Group>*> order;
  for (auto& entry : groups) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->second.orderRank < b->second.orderRank;
  });
  const bool isOneRank = order.size() == 1;
  if (isOneRank) nextRank = request.rankOfFile();
  isRankGuessed_ = isOneRank ? request.isRankGuessed() : request.nextRank > 0;
  std::int64_t count = 0;
  Counters counters;
  for (auto* entry : order) {
    auto& [key, group] = *entry;
    const int rank = nextRank++;
    timeline_.ranks[rank].rank = rank;
    timeline_.ranks[rank].device =
        !group.name.empty() ? group.name
                            : (key.first == 0 ? "process " : "track ") + std::to_string(key.second);
    std::set<std::string> names;
    for (const std::uint64_t uuid : group.tracks) {
      std::string name = laneOf(uuid);
      if (!names.insert(name).second) name += " [" + std::to_string(uuid) + "]";
      const auto track = tracks_.find(uuid);
      count += move(rows_[uuid], {rank, name}, track == tracks_.end() ? "" : track->second.unit,
                    counters);
    }
  }
  addCounters(counters);
  return count;
}

std::int64_t PerfettoCollector::finish(const ReadRequest& request) {
  return metadata_ ? finishOurs() : finishForeign(request);
}

}  // namespace pipetrace
