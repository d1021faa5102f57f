#include "analysis/matched_messages.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

namespace pipetrace {
namespace {

/// An end of a message, with what it is sorted by: that of other ends is far away in memory.
struct End {
  std::int32_t step = 0;
  std::int32_t microBatch = 0;
  bool isForward = false;
  bool isReceive = false;
  /// The sender's stage; kNotGiven where the end does not name its own.
  std::int64_t stage = 0;
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  const Event* event = nullptr;

  explicit End(const Event& of)
      : step(of.step),
        microBatch(of.microBatch),
        isForward(isForwardTransfer(of.kind)),
        isReceive(!isSend(of.kind)),
        stage(of.stage),
        begin(of.begin),
        end(of.end),
        event(&of) {
    if (isReceive && of.stage != kNotGiven) stage += isForward ? -1 : 1;
  }
  /// The same for all ends of a link that may belong together.
  auto key() const { return std::tuple(step, microBatch, isForward); }
  auto order() const { return std::tuple(key(), isReceive, stage, begin, end); }
};

/// The ends of each link, by sender and receiver.
using EndsOfLinks = std::map<std::pair<int, int>, std::vector<End>>;

EndsOfLinks endsOf(const Timeline& timeline, const std::function<bool(const Event&)>& isWanted) {
  EndsOfLinks links;
  for (const Track& track : timeline.tracks) {
    std::pair<int, int> latest;
    std::vector<End>* ends = nullptr;
    for (const Event& event : track.events) {
      if (!isTransfer(event.kind) || event.peer == kNotGiven) continue;
      if (isWanted && !isWanted(event)) continue;
      const bool sends = isSend(event.kind);
      const std::pair link(sends ? track.rank : event.peer, sends ? event.peer : track.rank);
      if (ends == nullptr || link != latest) ends = &links[latest = link];
      ends->emplace_back(event);
    }
  }
  return links;
}

/// Adds the messages of one link.
void match(std::pair<int, int> link, std::vector<End>& ends,
           std::vector<MatchedMessage>& messages) {
  std::stable_sort(ends.begin(), ends.end(),
                   [](const End& a, const End& b) { return a.order() < b.order(); });
  for (auto send = ends.begin(); send != ends.end();) {
    const auto next =
        std::find_if(send, ends.end(), [&](const End& end) { return end.key() != send->key(); });
    auto receive = std::find_if(send, next, [](const End& end) { return end.isReceive; });
    if (receive - send == next - receive) {
      for (; receive != next; ++send, ++receive) {
        messages.push_back({link.first, link.second, send->event, receive->event});
      }
    }
    send = next;
  }
}

}  // namespace

std::vector<MatchedMessage> matchedMessages(const Timeline& timeline,
                                            const std::function<bool(const Event&)>& isWanted) {
  std::vector<MatchedMessage> messages;
  for (auto& [link, ends] : endsOf(timeline, isWanted)) match(link, ends, messages);
  return messages;
}

}  // namespace pipetrace
