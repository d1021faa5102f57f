#include "parser/device_time/stream_times.h"

#include <algorithm>

namespace pipetrace {
namespace {

/// How long before its launch the work begins; 0 where that is not known.
Nanoseconds beforeLaunch(const StreamWork& work) {
  if (work.launch == nullptr) return 0;
  Nanoseconds time = 0;
  if (__builtin_sub_overflow(work.launch->time, work.event->begin, &time)) {
    return work.launch->time < work.event->begin ? 0 : kNsMax;
  }
  return std::max<Nanoseconds>(0, time);
}

void findWithoutTime(std::span<StreamWork> work) {
  constexpr std::size_t kFew = 10;  // one in ten
  const auto isFarBefore = [](const StreamWork& each) {
    return beforeLaunch(each) >= kNsPerSecond;
  };
  const auto far = static_cast<std::size_t>(std::count_if(work.begin(), work.end(), isFarBefore));
  const bool areFew = kFew * far <= work.size();
  for (StreamWork& each : work) {
    const bool isEmpty = each.event->duration() <= 0 && beforeLaunch(each) >= kNsPerMs;
    each.hasNoTime = isEmpty || (areFew && isFarBefore(each));
  }
}

bool areOfOneLaunch(const StreamWork& a, const StreamWork& b) {
  return a.launch != nullptr && a.launch == b.launch;
}

}  // namespace

StreamFaults& StreamFaults::operator+=(const StreamFaults& other) {
  withoutTime += other.withoutTime;
  overruns += other.overruns;
  overrunTime += other.overrunTime;
  return *this;
}

void StreamFaults::addTo(RankInfo& info) const {
  info.eventsWithoutTime += withoutTime;
  info.overruns += overruns;
  info.overrunTime += overrunTime;
}

StreamFaults correctStream(std::span<StreamWork> work) {
  StreamFaults faults;
  findWithoutTime(work);
  std::vector<const StreamWork*> inOrder;
  inOrder.reserve(work.size());
  for (const StreamWork& each : work) {
    if (each.hasNoTime) {
      ++faults.withoutTime;
    } else {
      inOrder.push_back(&each);
    }
  }
  const auto comesBefore = [](const StreamWork* a, const StreamWork* b) {
    return a->event->begin < b->event->begin;
  };
  if (!std::is_sorted(inOrder.begin(), inOrder.end(), comesBefore)) {
    std::stable_sort(inOrder.begin(), inOrder.end(), comesBefore);
  }
  for (std::size_t i = 1; i < inOrder.size(); ++i) {
    Event& event = *inOrder[i - 1]->event;
    const Nanoseconds next = inOrder[i]->event->begin;
    if (event.end - kMostOverrun <= next || next == event.begin) continue;
    if (areOfOneLaunch(*inOrder[i - 1], *inOrder[i])) continue;
    ++faults.overruns;
    faults.overrunTime += event.end - next;
    event.end = next;
  }
  return faults;
}

void removeWithoutTime(std::span<const StreamWork> work, std::vector<Event>& events) {
  const auto isGone = [](const StreamWork& each) { return each.hasNoTime; };
  auto next = std::find_if(work.begin(), work.end(), isGone);
  if (next == work.end()) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (next != work.end() && next->event == &events[i]) {
      next = std::find_if(next + 1, work.end(), isGone);
      continue;
    }
    if (kept != i) events[kept] = events[i];
    ++kept;
  }
  events.resize(kept);
}

}  // namespace pipetrace
