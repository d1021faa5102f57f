#include "parser/log_run.h"

#include <iterator>
#include <utility>

namespace pipetrace {

std::int64_t LogRun::eventCount() const {
  std::size_t count = 0;
  for (const auto& [name, events] : lanes) count += events.size();
  return static_cast<std::int64_t>(count);
}

void LogRun::moveTo(Timeline& timeline, int rank) {
  const auto offset = static_cast<std::uint32_t>(timeline.arguments.size());
  timeline.arguments.insert(timeline.arguments.end(), arguments.begin(), arguments.end());
  for (auto& [name, events] : lanes) {
    for (Event& event : events) event.firstArgument += event.argumentCount > 0 ? offset : 0;
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
