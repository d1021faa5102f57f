#include "analysis/topology/message_pairs.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

using Events = std::vector<Event*>;

/// The ends of the messages from one rank to another, each in the order of their begins.
struct Link {
  Events sends;
  Events receives;
};
using Pairs = std::vector<std::pair<Event*, Event*>>;

bool isDescribed(const Event& event) {
  return isTransfer(event.kind) && event.microBatch != kNotGiven;
}

bool overlap(const Event& a, const Event& b) { return a.begin < b.end && b.begin < a.end; }

Pairs pairsInOrder(const Link& link) {
  Pairs pairs;
  for (std::size_t i = 0; i < link.sends.size(); ++i) {
    pairs.emplace_back(link.sends[i], link.receives[i]);
  }
  return pairs;
}

Pairs pairsByTime(const Link& link) {
  Pairs pairs;
  auto send = link.sends.begin();
  auto receive = link.receives.begin();
  while (send != link.sends.end() && receive != link.receives.end()) {
    if (overlap(**send, **receive)) {
      pairs.emplace_back(*send++, *receive++);
    } else if ((*send)->begin < (*receive)->begin) {
      ++send;
    } else {
      ++receive;
    }
  }
  return pairs;
}

Pairs pairsOf(const Link& link) {
  Pairs byTime = pairsByTime(link);
  if (link.sends.size() != link.receives.size()) return byTime;
  Pairs inOrder = pairsInOrder(link);
  const auto overlapping = std::count_if(inOrder.begin(), inOrder.end(), [](const auto& pair) {
    return overlap(*pair.first, *pair.second);
  });
  // Where the traces of two ranks begin at different messages, more pairs overlap by time.
  return std::cmp_less(overlapping, byTime.size()) ? byTime : inOrder;
}

/// Completes `to` with what the other end of its message knows.
void complete(Event& to, bool isSend, const Event& from) {
  if (isDescribed(to) || !isTransfer(from.kind)) return;
  const bool isForward = isForwardTransfer(from.kind);
  to.kind = transferKind(isSend, isForward);
  if (to.microBatch == kNotGiven) to.microBatch = from.microBatch;
  if (to.step == kNotGiven) to.step = from.step;
  if (to.stage == kNotGiven && from.stage != kNotGiven) {
    const bool isFromNext = isSend != isForward;
    to.stage = std::max(from.stage + (isFromNext ? 1 : -1), kNotGiven);
  }
}

std::map<std::pair<int, int>, Link> linksOf(Timeline& timeline) {
  std::map<std::pair<int, int>, Link> links;
  for (Track& track : timeline.tracks) {
    const bool isSend = isSendLane(track.lane);
    if (!isSend && !isRecvLane(track.lane)) continue;
    for (Event& event : track.events) {
      if (event.peer == kNotGiven) continue;
      if (isSend) {
        links[{track.rank, event.peer}].sends.push_back(&event);
      } else {
        links[{event.peer, track.rank}].receives.push_back(&event);
      }
    }
  }
  return links;
}

}  // namespace

void pairMessages(Timeline& timeline) {
  const auto known = timeline.strings.find(message_arguments::kMessage);
  const auto hasNumber = [&](const Event& event) {
    const auto arguments = timeline.argumentsOf(event);
    return known && std::any_of(arguments.begin(), arguments.end(),
                                [&](const Argument& each) { return each.key == *known; });
  };
  bool isNeeded = false;
  for (const Track& track : timeline.tracks) {
    if (!isSendLane(track.lane) && !isRecvLane(track.lane)) continue;
    for (const Event& event : track.events) {
      if (event.peer == kNotGiven || isDescribed(event)) continue;
      if (hasNumber(event)) return;  // a profile, for which it was done
      isNeeded = true;
    }
  }
  if (!isNeeded) return;
  const StringId key = timeline.strings.intern(message_arguments::kMessage);
  std::int64_t number = 0;
  for (auto& [ranks, link] : linksOf(timeline)) {
    for (const auto& [send, receive] : pairsOf(link)) {
      complete(*send, true, *receive);
      complete(*receive, false, *send);
      if (send->microBatch != kNotGiven || receive->microBatch != kNotGiven) continue;
      const Argument argument = Argument::ofInteger(key, number++);
      timeline.addArguments(*send, {&argument, 1});
      timeline.addArguments(*receive, {&argument, 1});
    }
  }
}

}  // namespace pipetrace
