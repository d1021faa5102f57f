#include "parser/runs/run_parts.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "trace/run_parts.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

/// The files of all ranks that were recorded together.
struct Part {
  std::map<int, Nanoseconds> begins;  // of each rank
  Timeline::Span span{kNsMax, kNsMin};
  std::int32_t firstStep = kNotGiven;
  std::int32_t lastStep = kNotGiven;

  void add(const FileFacts& file) {
    for (const auto& [rank, ofRank] : file.ranks) begins.emplace(rank, ofRank.begin);
    span = {std::min(span.begin, file.span.begin), std::max(span.end, file.span.end)};
    if (file.firstStep == kNotGiven) return;
    firstStep = firstStep == kNotGiven ? file.firstStep : std::min(firstStep, file.firstStep);
    lastStep = std::max(lastStep, file.lastStep);
  }

  bool holdsRankOf(const FileFacts& file) const {
    return std::any_of(file.ranks.begin(), file.ranks.end(),
                       [&](const auto& rank) { return begins.contains(rank.first); });
  }
};

bool isCopyIn(const Part& part, const FileFacts& file) {
  return std::all_of(file.ranks.begin(), file.ranks.end(), [&](const auto& rank) {
    const auto begin = part.begins.find(rank.first);
    return begin != part.begins.end() && begin->second == rank.second.begin;
  });
}

std::vector<Part> partsOf(std::span<const FileFacts> files) {
  std::vector<const FileFacts*> order;
  for (const FileFacts& file : files) {
    if (file.isLog) return {};
    if (!file.process.id.empty()) order.push_back(&file);
  }
  std::stable_sort(order.begin(), order.end(), [](const FileFacts* a, const FileFacts* b) {
    return a->span.begin < b->span.begin;
  });
  std::vector<Part> parts;
  for (const FileFacts* file : order) {
    if (!parts.empty() && isCopyIn(parts.back(), *file)) continue;
    const bool isNext = parts.empty() || parts.back().holdsRankOf(*file);
    if (isNext) parts.emplace_back();
    parts.back().add(*file);
  }
  return parts;
}

class PartGiver {
 public:
  PartGiver(const std::vector<Part>& parts, Timeline& timeline)
      : parts_(parts), timeline_(timeline) {}

  /// Returns whether steps got other numbers.
  bool give() {
    for (auto& [rank, info] : timeline_.ranks) {
      info.partBegins.clear();
      for (std::size_t part = 1; part < parts_.size(); ++part) {
        const auto begin = parts_[part].begins.find(rank);
        info.partBegins.push_back(begin == parts_[part].begins.end() ? parts_[part].span.begin
                                                                     : begin->second);
      }
      // A rank whose file is missing must not make them go back.
      std::sort(info.partBegins.begin(), info.partBegins.end());
    }
    const std::vector<std::int32_t> steps = stepShifts();
    const std::map<int, std::vector<std::int64_t>> jobs = jobShifts();
    for (Track& track : timeline_.tracks) {
      for (Event& event : track.events) {
        const std::size_t part = partOf(track.rank, event);
        if (event.step != kNotGiven) event.step += steps[part];
        if (event.job != kNotGiven) event.job += jobs.at(track.rank)[part];
      }
    }
    return std::any_of(steps.begin(), steps.end(), [](std::int32_t by) { return by != 0; });
  }

 private:
  std::size_t partOf(int rank, const Event& event) const {
    return partAt(timeline_.ranks.at(rank).partBegins, event.begin);
  }

  std::vector<std::int32_t> stepShifts() const {
    std::vector<std::int32_t> shifts;
    std::int32_t last = kNotGiven;
    for (const Part& part : parts_) {
      const bool isAgain = part.firstStep != kNotGiven && part.firstStep <= last;
      const std::int32_t by = isAgain ? last + 1 - part.firstStep : 0;
      const bool fits = part.lastStep <= std::numeric_limits<std::int32_t>::max() - 1 - by;
      shifts.push_back(fits ? by : 0);
      if (part.lastStep != kNotGiven) last = std::max(last, part.lastStep + shifts.back());
    }
    return shifts;
  }

  std::map<int, std::vector<std::int64_t>> jobShifts() const {
    struct Range {
      std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
      std::int64_t highest = kNotGiven;
    };
    std::map<int, std::vector<Range>> ranges;
    for (const Track& track : timeline_.tracks) {
      auto& ofRank = ranges[track.rank];
      ofRank.resize(parts_.size());
      for (const Event& event : track.events) {
        if (event.job == kNotGiven) continue;
        Range& range = ofRank[partOf(track.rank, event)];
        range.lowest = std::min(range.lowest, event.job);
        range.highest = std::max(range.highest, event.job);
      }
    }
    std::map<int, std::vector<std::int64_t>> shifts;
    for (const auto& [rank, ofRank] : ranges) {
      std::int64_t last = kNotGiven;
      for (const Range& range : ofRank) {
        const bool isAgain = range.highest != kNotGiven && range.lowest <= last;
        shifts[rank].push_back(isAgain ? last + 1 - range.lowest : 0);
        if (range.highest != kNotGiven) last = std::max(last, range.highest + shifts[rank].back());
      }
    }
    return shifts;
  }

  const std::vector<Part>& parts_;
  Timeline& timeline_;
};

}  // namespace

void giveParts(std::span<const FileFacts> files, Timeline& timeline, Diagnostics& diagnostics) {
  const std::vector<Part> parts = partsOf(files);
  if (parts.size() < 2) return;
  const bool isNumberedAgain = PartGiver(parts, timeline).give();
  Nanoseconds pause = 0;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    pause = std::max(pause, parts[i].span.begin - parts[i - 1].span.end);
  }
  diagnostics.add({.severity = Severity::kNote,
                   .message = "the files are " + std::to_string(parts.size()) +
                              " parts of one run, up to " + formatDuration(pause) +
                              " apart; the time between parts is of no step, and no bubble" +
                              (isNumberedAgain ? "; steps whose numbers start again in a part are "
                                                 "counted on"
                                               : "")});
}

}  // namespace pipetrace
