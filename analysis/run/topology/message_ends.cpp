#include "analysis/run/topology/message_ends.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/event_arguments.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

/// The stage at the other end.
std::int64_t otherStage(const Event& transfer) {
  const bool isToNext = isSend(transfer.kind) == isForwardTransfer(transfer.kind);
  return std::int64_t{transfer.stage} + (isToNext ? 1 : -1);
}

/// The ranks that run each stage, ascending.
using RanksOfStages = std::map<std::int64_t, std::vector<int>>;

RanksOfStages ranksOfStages(const Timeline& timeline) {
  std::map<std::int32_t, std::set<int>> found;
  for (const Track& track : timeline.tracks) {
    std::int32_t latest = kNotGiven;
    for (const Event& event : track.events) {
      if (event.stage == latest || event.stage == kNotGiven || !isCompute(event.kind)) continue;
      latest = event.stage;
      found[latest].insert(track.rank);
    }
  }
  RanksOfStages ranks;
  for (const auto& [stage, set] : found) ranks[stage] = {set.begin(), set.end()};
  return ranks;
}

std::int32_t peerOf(const Event& transfer, int rank, const RanksOfStages& ranks,
                    const Timeline& timeline) {
  const auto own = ranks.find(transfer.stage);
  const auto other = ranks.find(otherStage(transfer));
  if (own == ranks.end() || other == ranks.end()) return kNotGiven;
  const std::vector<int> pipeline = statedPipeline(timeline.ranks.at(rank));
  if (!pipeline.empty()) {
    const auto peer = std::find_first_of(other->second.begin(), other->second.end(),
                                         pipeline.begin(), pipeline.end());
    return peer == other->second.end() ? std::int32_t{kNotGiven} : *peer;
  }
  if (own->second.size() != other->second.size()) return kNotGiven;
  const auto place = std::lower_bound(own->second.begin(), own->second.end(), rank);
  if (place == own->second.end() || *place != rank) return kNotGiven;
  return other->second[static_cast<std::size_t>(place - own->second.begin())];
}

bool isTransferLane(const Track& track) { return isSendLane(track.lane) || isRecvLane(track.lane); }

/// Whether any event may have the host's span; most runs have none.
std::optional<StringId> hostEndKey(const Timeline& timeline) {
  return timeline.strings.find(device_arguments::kHostEnd);
}

const Argument* findArgument(const Timeline& timeline, const Event& event, StringId key) {
  const auto arguments = timeline.argumentsOf(event);
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const Argument& each) { return each.key == key; });
  return found == arguments.end() ? nullptr : &*found;
}

/// Sender, receiver, whether forward, the sender's stage, micro-batch, step.
using SentKey = std::tuple<int, int, bool, std::int64_t, std::int32_t, std::int32_t>;

SentKey sentKeyOf(const Event& transfer, int rank) {
  const bool isForward = isForwardTransfer(transfer.kind);
  if (isSend(transfer.kind)) {
    return {rank, transfer.peer, isForward, transfer.stage, transfer.microBatch, transfer.step};
  }
  return {transfer.peer, rank, isForward, otherStage(transfer), transfer.microBatch, transfer.step};
}

/// The sends and receives of one message's identity, in the order of posting on each side.
struct TwoEnds {
  std::vector<Event*> sends;
  std::vector<const Event*> receives;
};

class SendEnds {
 public:
  SendEnds(Timeline& timeline, StringId hostEnd) : timeline_(timeline), hostEnd_(hostEnd) {
    arrived_ = timeline.strings.intern(message_arguments::kArrived);
    early_ = timeline.strings.intern(message_arguments::kEarly);
  }

  void end() {
    for (Track& track : timeline_.tracks) {
      if (isTransferLane(track)) addEvents(track);
    }
    for (auto& [key, ends] : messages_) {
      const std::size_t count = std::min(ends.sends.size(), ends.receives.size());
      for (std::size_t i = 0; i < count; ++i) endWith(*ends.receives[i], *ends.sends[i]);
    }
  }

 private:
  void addEvents(Track& track) {
    for (Event& event : track.events) {
      if (!isTransfer(event.kind) || event.peer == kNotGiven || event.stage == kNotGiven) continue;
      if (isRecv(event.kind)) {
        messages_[sentKeyOf(event, track.rank)].receives.push_back(&event);
      } else if (findArgument(timeline_, event, hostEnd_) != nullptr) {
        messages_[sentKeyOf(event, track.rank)].sends.push_back(&event);
      }
    }
  }

  void endWith(const Event& receive, Event& send) {
    send.end = std::max(send.begin, receive.end);  // clocks of two hosts may differ
    const bool isEarly = findArgument(timeline_, receive, arrived_) != nullptr;
    if (!isEarly || findArgument(timeline_, send, arrived_) != nullptr) return;
    const auto old = timeline_.argumentsOf(send);
    std::vector<Argument> all(old.begin(), old.end());
    all.push_back(Argument::ofText(arrived_, early_));
    timeline_.setArguments(send, all);
  }

  Timeline& timeline_;
  StringId hostEnd_;
  StringId arrived_ = 0;
  StringId early_ = 0;
  std::map<SentKey, TwoEnds> messages_;
};

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

void givePeers(Timeline& timeline) {
  if (!hostEndKey(timeline)) return;
  const auto isMissing = [](const Event& event) {
    return isTransfer(event.kind) && event.peer == kNotGiven && event.stage != kNotGiven;
  };
  std::optional<RanksOfStages> ranks;
  for (Track& track : timeline.tracks) {
    if (!isTransferLane(track)) continue;
    for (Event& event : track.events) {
      if (!isMissing(event)) continue;
      if (!ranks) ranks = ranksOfStages(timeline);
      event.peer = peerOf(event, track.rank, *ranks, timeline);
    }
  }
}

void endSendsWithReceives(Timeline& timeline) {
  const auto hostEnd = hostEndKey(timeline);
  if (!hostEnd) return;
  SendEnds(timeline, *hostEnd).end();
  for (Track& track : timeline.tracks) {
    if (!isSendLane(track.lane)) continue;
    if (std::is_sorted(track.events.begin(), track.events.end(), startsBefore)) continue;
    std::stable_sort(track.events.begin(), track.events.end(), startsBefore);
  }
}

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
