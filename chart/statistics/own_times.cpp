#include "chart/statistics/own_times.h"

#include <algorithm>

namespace pipetrace {

template <typename Closed>
void OwnTimes::Stack::advance(Nanoseconds time, const Closed& closed) {
  while (!open.empty() && open.back().end <= time) {
    Open& top = open.back();
    if (top.end > upTo) {
      top.own += top.end - upTo;
      upTo = top.end;
    }
    closed(top);
    open.pop_back();
  }
  if (!open.empty() && time > upTo) open.back().own += time - upTo;
  upTo = std::max(upTo, time);
}

/// An event that began together with shorter ones, which come first, is under them.
void OwnTimes::Stack::push(std::size_t event, const Event& times) {
  auto place = open.end();
  while (place != open.begin() && (place - 1)->begin == times.begin &&
         (place - 1)->end < times.end) {
    --place;
  }
  open.insert(place, {event, times.begin, times.end, 0});
}

OwnTimes::OwnTimes(std::span<const Event> events, std::size_t block)
    : block_(block), own_(events.size()) {
  Stack stack;
  const auto close = [this](const Open& event) { own_[event.event] = event.own; };
  for (std::size_t i = 0; i < events.size(); ++i) {
    stack.advance(events[i].begin, close);
    if (i % block_ == 0) atBlock_.push_back(stack);
    stack.push(i, events[i]);
  }
  stack.advance(kNsMax, close);
}

std::vector<std::pair<std::size_t, Nanoseconds>> OwnTimes::before(std::span<const Event> events,
                                                                  Nanoseconds time) const {
  // The last block that begins before `time`.
  std::size_t count = 0;
  std::size_t after = atBlock_.size();
  while (count < after) {
    const std::size_t middle = count + (after - count) / 2;
    (events[middle * block_].begin < time ? count : after) =
        events[middle * block_].begin < time ? middle + 1 : middle;
  }
  if (count == 0) return {};
  const std::size_t first = (count - 1) * block_;
  Stack stack = atBlock_[count - 1];
  const auto drop = [](const Open&) {};
  for (std::size_t i = first; i < events.size() && events[i].begin < time; ++i) {
    if (i > first) stack.advance(events[i].begin, drop);
    stack.push(i, events[i]);
  }
  stack.advance(time, drop);
  std::vector<std::pair<std::size_t, Nanoseconds>> found;
  for (const Open& event : stack.open) found.emplace_back(event.event, event.own);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace pipetrace
