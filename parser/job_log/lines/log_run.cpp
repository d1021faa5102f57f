#include "parser/job_log/lines/log_run.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "trace/log/log_format.h"

namespace pipetrace {

std::int64_t LogRun::eventCount() const {
  std::size_t count = 0;
  for (const auto& [name, events] : lanes) count += events.size();
  return static_cast<std::int64_t>(count);
}

std::int64_t LogRun::countedLines(const StringTable& strings) const {
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

std::vector<Event>& LogRun::laneOf(std::string_view name) {
  auto found = lanes.find(name);
  if (found == lanes.end()) found = lanes.try_emplace(std::string(name)).first;
  return found->second;
}

void LogRun::setArguments(Event& event, std::span<const Argument> list) {
  const auto count = std::min<std::size_t>(list.size(), std::numeric_limits<std::uint16_t>::max());
  event.firstArgument = static_cast<std::uint32_t>(arguments.size());
  event.argumentCount = static_cast<std::uint16_t>(count);
  arguments.insert(arguments.end(), list.begin(),
                   list.begin() + static_cast<std::ptrdiff_t>(count));
}

void LogRun::clearEvents() {
  for (auto& [name, events] : lanes) events.clear();
  arguments.clear();
  counters.clear();
  findings = {};
}

void LogRun::moveTo(Timeline& timeline, int rank) {
  const auto offset = static_cast<std::uint32_t>(timeline.arguments.size());
  if (offset == 0) {
    timeline.arguments = std::move(arguments);
  } else {
    timeline.arguments.insert(timeline.arguments.end(), arguments.begin(), arguments.end());
  }
  for (auto& [name, events] : lanes) {
    if (offset > 0) {
      for (Event& event : events) event.firstArgument += event.argumentCount > 0 ? offset : 0;
    }
    std::vector<Event>& target = timeline.track(rank, name).events;
    if (target.empty()) {
      target = std::move(events);
    } else {
      target.insert(target.end(), events.begin(), events.end());
    }
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
