#include "trace/append.h"

#include <algorithm>
#include <limits>

namespace pipetrace {

void setArguments(Event& event, std::span<const Argument> list, std::vector<Argument>& all) {
  const auto count = std::min<std::size_t>(list.size(), std::numeric_limits<std::uint16_t>::max());
  event.firstArgument = static_cast<std::uint32_t>(all.size());
  event.argumentCount = static_cast<std::uint16_t>(count);
  all.insert(all.end(), list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
}

void EventRemap::operator()(std::vector<Event>& events) const {
  if (strings_ == nullptr && firstArgument_ == 0) return;
  for (Event& event : events) (*this)(event);
}

EventRemap appendArguments(std::vector<Argument>& part, const StringRemap& strings,
                           std::vector<Argument>& all) {
  const EventRemap remap(strings, part.empty() ? 0 : all.size());
  for (Argument& argument : part) {
    argument.key = strings[argument.key];
    if (argument.type == ArgumentType::kText) argument.text = strings[argument.text];
  }
  all.insert(all.end(), part.begin(), part.end());
  return remap;
}

void appendStringsAndArguments(Timeline& part, Timeline& timeline) {
  if (timeline.tracks.empty() && timeline.counters.empty()) {
    timeline.strings = std::move(part.strings);
    timeline.arguments = std::move(part.arguments);
    return;
  }
  StringRemap strings;
  strings.grow(part.strings, timeline.strings);
  const EventRemap remap = appendArguments(part.arguments, strings, timeline.arguments);
  for (Track& track : part.tracks) remap(track.events);
}

void append(Timeline part, Timeline& timeline) {
  appendStringsAndArguments(part, timeline);
  timeline.ranks.merge(part.ranks);
  for (Track& track : part.tracks) {
    append(std::move(track.events), timeline.track(track.rank, track.lane).events);
  }
  for (CounterSeries& series : part.counters) timeline.counters.push_back(std::move(series));
}

}  // namespace pipetrace
