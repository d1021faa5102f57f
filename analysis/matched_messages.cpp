#include "analysis/matched_messages.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace pipetrace {
namespace {

struct End {
  int sender = 0;
  int receiver = 0;
  const Event* event = nullptr;

  bool isSend() const { return pipetrace::isSend(event->kind); }
  /// The sender's stage; kNotGiven where the end does not name its own.
  std::int64_t stage() const {
    if (isSend() || event->stage == kNotGiven) return event->stage;
    return std::int64_t{event->stage} + (isForwardTransfer(event->kind) ? -1 : 1);
  }
  /// The same for all ends that may belong together.
  auto key() const {
    return std::tuple(sender, receiver, event->step, event->microBatch,
                      isForwardTransfer(event->kind));
  }
  auto order() const { return std::tuple(key(), !isSend(), stage(), event->begin, event->end); }
};

std::vector<End> endsOf(const Timeline& timeline,
                        const std::function<bool(const Event&)>& isWanted) {
  std::vector<End> ends;
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (!isTransfer(event.kind) || event.peer == kNotGiven) continue;
      if (isWanted && !isWanted(event)) continue;
      const bool sends = isSend(event.kind);
      ends.push_back({sends ? track.rank : event.peer, sends ? event.peer : track.rank, &event});
    }
  }
  std::stable_sort(ends.begin(), ends.end(),
                   [](const End& a, const End& b) { return a.order() < b.order(); });
  return ends;
}

}  // namespace

std::vector<MatchedMessage> matchedMessages(const Timeline& timeline,
                                            const std::function<bool(const Event&)>& isWanted) {
  const std::vector<End> ends = endsOf(timeline, isWanted);
  std::vector<MatchedMessage> messages;
  for (auto send = ends.begin(); send != ends.end();) {
    const auto next =
        std::find_if(send, ends.end(), [&](const End& end) { return end.key() != send->key(); });
    auto receive = std::find_if(send, next, [](const End& end) { return !end.isSend(); });
    if (receive - send == next - receive) {
      for (; receive != next; ++send, ++receive) {
        messages.push_back({send->sender, send->receiver, send->event, receive->event});
      }
    }
    send = next;
  }
  return messages;
}

}  // namespace pipetrace
