#include "parser/job_log/lines/rank_part.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "trace/append.h"
#include "trace/log/log_format.h"

namespace pipetrace {

std::int64_t RankPart::eventCount() const {
  std::size_t count = 0;
  for (const auto& [name, events] : lanes) count += events.size();
  return static_cast<std::int64_t>(count);
}

std::int64_t RankPart::countedLines(const StringTable& strings) const {
  const auto isCounted = [&](const Event& event) {
    if (event.kind == JobKind::kKernel) return false;
    const auto from = arguments.begin() + event.firstArgument;
    return std::none_of(from, from + event.argumentCount, [&](const Argument& each) {
      return strings[each.key] == log_format::kCommunicator;
    });
  };
  std::int64_t lines = findings.linesLeftOut();
  for (const auto& [name, events] : lanes) {
    lines += name == log_format::kNcclLane || name == kKernelsLane
                 ? std::count_if(events.begin(), events.end(), isCounted)
                 : static_cast<std::int64_t>(events.size());
  }
  for (const auto& [name, series] : counters) {
    lines += static_cast<std::int64_t>(series.samples.size());
  }
  return lines;
}

std::vector<Event>& RankPart::laneOf(std::string_view name) {
  auto found = lanes.find(name);
  if (found == lanes.end()) found = lanes.try_emplace(std::string(name)).first;
  return found->second;
}

void RankPart::clearEvents() {
  for (auto& [name, events] : lanes) events.clear();
  arguments.clear();
  counters.clear();
  findings = {};
}

void RankPart::moveTo(Timeline& timeline, int rank) {
  const EventRemap remap(timeline.arguments.size());
  append(std::move(arguments), timeline.arguments);
  for (auto& [name, events] : lanes) {
    remap(events);
    append(std::move(events), timeline.track(rank, name).events);
  }
  for (auto& [name, series] : counters) {
    series.rank = rank;
    timeline.counters.push_back(std::move(series));
  }
  info.rank = rank;
  timeline.ranks[rank] = std::move(info);
  *this = {};
}

}  // namespace pipetrace
