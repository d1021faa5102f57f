#include "analysis/matched_messages.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

/// An end of a message, with what it is sorted by: that of other ends is far away in memory.
struct End {
  std::int32_t step = 0;
  std::int32_t microBatch = 0;
  bool isForward = false;
  /// The sender's stage; kNotGiven where the end does not name its own.
  std::int64_t stage = 0;
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  const Event* event = nullptr;

  /// `isNumbered`: its micro-batch is the same number on both ranks.
  End(const Event& of, bool isNumbered)
      : step(of.step),
        microBatch(isNumbered ? of.microBatch : kNotGiven),
        isForward(isForwardTransfer(of.kind)),
        stage(of.stage),
        begin(of.begin),
        end(of.end),
        event(&of) {
    if (!isSend(of.kind) && of.stage != kNotGiven) stage += isForward ? -1 : 1;
  }
  /// The same for all ends of a link that may belong together.
  auto key() const { return std::tuple(step, microBatch, isForward); }
  auto order() const { return std::tuple(key(), stage, begin, end); }
};

using RankPair = std::pair<int, int>;  // sender, receiver

struct EndsOfLink {
  std::vector<End> sends;
  std::vector<End> receives;

  void add(const EndsOfLink& more) {
    sends.insert(sends.end(), more.sends.begin(), more.sends.end());
    receives.insert(receives.end(), more.receives.begin(), more.receives.end());
  }
};

/// `areFound`: its jobs were found. Until numberFoundJobs() gives them their stages, their
/// micro-batches are places among the jobs of one rank.
std::map<RankPair, EndsOfLink> endsOf(const Track& track, bool areFound,
                                      const std::function<bool(const Event&)>& isWanted) {
  std::map<RankPair, EndsOfLink> links;
  RankPair latest;
  EndsOfLink* ends = nullptr;
  for (const Event& event : track.events) {
    if (!isTransfer(event.kind) || event.peer == kNotGiven) continue;
    if (isWanted && !isWanted(event)) continue;
    const bool sends = isSend(event.kind);
    const RankPair link(sends ? track.rank : event.peer, sends ? event.peer : track.rank);
    if (ends == nullptr || link != latest) ends = &links[latest = link];
    const bool isNumbered = !areFound || event.stage != kNotGiven;
    (sends ? ends->sends : ends->receives).emplace_back(event, isNumbered);
  }
  return links;
}

void sortEnds(std::vector<End>& ends) {
  const auto isBefore = [](const End& a, const End& b) { return a.order() < b.order(); };
  // Most are in their order.
  if (std::is_sorted(ends.begin(), ends.end(), isBefore)) return;
  std::stable_sort(ends.begin(), ends.end(), isBefore);
}

std::vector<MatchedMessage> messagesOf(RankPair link, EndsOfLink& ends) {
  sortEnds(ends.sends);
  sortEnds(ends.receives);
  std::vector<MatchedMessage> messages;
  messages.reserve(ends.sends.size());
  auto receive = ends.receives.begin();
  for (auto send = ends.sends.begin(); send != ends.sends.end();) {
    const auto key = send->key();
    const auto isOther = [&](const End& end) { return end.key() != key; };
    const auto next = std::find_if(send, ends.sends.end(), isOther);
    while (receive != ends.receives.end() && receive->key() < key) ++receive;
    const auto nextReceive = std::find_if(receive, ends.receives.end(), isOther);
    if (next - send == nextReceive - receive) {
      for (; send != next; ++send, ++receive) {
        messages.push_back({link.first, link.second, send->event, receive->event});
      }
    }
    send = next;
    receive = nextReceive;
  }
  ends = {};
  return messages;
}

}  // namespace

std::vector<MatchedMessage> matchedMessages(const Timeline& timeline,
                                            const std::function<bool(const Event&)>& isWanted,
                                            int threads) {
  std::vector<std::map<RankPair, EndsOfLink>> ofTracks(timeline.tracks.size());
  inParallel(threads, ofTracks.size(), [&](std::size_t track) {
    const auto info = timeline.ranks.find(timeline.tracks[track].rank);
    const bool areFound = info != timeline.ranks.end() && info->second.jobsFound > 0;
    ofTracks[track] = endsOf(timeline.tracks[track], areFound, isWanted);
  });
  std::map<RankPair, EndsOfLink> ends;
  for (std::map<RankPair, EndsOfLink>& ofTrack : ofTracks) {
    for (auto& [link, more] : ofTrack) {
      const auto [known, isNew] = ends.try_emplace(link);
      if (isNew) {
        known->second = std::move(more);
      } else {
        known->second.add(more);
      }
    }
    ofTrack.clear();
  }
  std::vector<std::pair<const RankPair, EndsOfLink>*> links;
  for (auto& each : ends) links.push_back(&each);
  std::vector<std::vector<MatchedMessage>> ofLinks(links.size());
  inParallel(threads, links.size(),
             [&](std::size_t i) { ofLinks[i] = messagesOf(links[i]->first, links[i]->second); });
  std::size_t count = 0;
  for (const std::vector<MatchedMessage>& each : ofLinks) count += each.size();
  std::vector<MatchedMessage> messages;
  messages.reserve(count);
  for (const std::vector<MatchedMessage>& each : ofLinks) {
    messages.insert(messages.end(), each.begin(), each.end());
  }
  return messages;
}

}  // namespace pipetrace
