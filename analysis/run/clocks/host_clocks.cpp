#include "analysis/run/clocks/host_clocks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/event_bytes.h"
#include "analysis/matched_messages.h"
#include "analysis/run/clocks/move_times.h"
#include "trace/event_arguments.h"
#include "trace/kernel_names.h"
#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

using HostsOfRanks = std::map<int, std::size_t>;

/// One rank's collectives of a kind in a communicator, in their order.
using Collectives =
    std::map<std::pair<StringId, JobKind>, std::map<int, std::vector<const Event*>>>;

Collectives collectivesOf(const Timeline& timeline) {
  Collectives collectives;
  // Those inside jobs name their group.
  const std::optional<StringId> keys[] = {timeline.strings.find(log_format::kCommunicator),
                                          timeline.strings.find(collective_arguments::kGroup)};
  if (!keys[0] && !keys[1]) return collectives;
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (!isCollective(event.kind)) continue;
      for (const Argument& argument : timeline.argumentsOf(event)) {
        if (argument.type != ArgumentType::kText) continue;
        if (argument.key != keys[0] && argument.key != keys[1]) continue;
        // Without a device the event is the wait of a thread, which may come late to it.
        const bool isWait =
            argument.key == keys[1] && !isCommunicationKernel(timeline.strings[event.name]);
        if (isWait) continue;
        collectives[{argument.text, event.kind}][track.rank].push_back(&event);
      }
    }
  }
  for (auto& [group, ranks] : collectives) {
    for (auto& [rank, events] : ranks) {
      std::stable_sort(events.begin(), events.end(),
                       [](const Event* a, const Event* b) { return startsBefore(*a, *b); });
    }
  }
  return collectives;
}

/// The members of one collective on one host: the last begin and the first end.
struct OnHost {
  std::pair<int, const Event*> last;
  std::pair<int, const Event*> first;
};

void visitCollective(const std::map<int, std::vector<const Event*>>& ranks, std::size_t n,
                     const HostsOfRanks& hosts, const std::function<void(const Crossing&)>& visit) {
  std::map<std::size_t, OnHost> members;
  for (const auto& [rank, events] : ranks) {
    const std::pair member(rank, events[n]);
    const auto [at, isNew] = members.try_emplace(hosts.at(rank), OnHost{member, member});
    if (events[n]->begin > at->second.last.second->begin) at->second.last = member;
    if (events[n]->end < at->second.first.second->end) at->second.first = member;
  }
  for (const auto& [from, sender] : members) {
    for (const auto& [host, receiver] : members) {
      if (from == host) continue;
      visit({from, host, sender.last.second->begin, receiver.first.second->end, sender.last.first,
             receiver.first.first, sender.last.second});
    }
  }
}

}  // namespace

std::string ClockHost::text() const {
  return name.empty() ? "rank " + std::to_string(ranks.front()) : name;
}

std::string Crossing::text() const {
  std::string what(logName(event->kind));
  if (isCompute(event->kind)) what += " " + std::to_string(event->microBatch);
  if (isTransfer(event->kind)) what = isForwardTransfer(event->kind) ? "F" : "B";
  if (event->microBatch != kNotGiven && isTransfer(event->kind)) {
    what += std::to_string(event->microBatch);
  } else if (isTransfer(event->kind)) {
    what = "a message";
  }
  if (event->step != kNotGiven) what += " of step " + std::to_string(event->step);
  return what + " from rank " + std::to_string(sender) + " to rank " + std::to_string(receiver);
}

std::vector<ClockHost> clockHostsOf(const Timeline& timeline, int threads) {
  std::vector<ClockHost> hosts;
  std::map<std::string, std::size_t> places;
  for (const auto& [rank, span] : spansOfRanks(timeline, threads)) {
    const auto info = timeline.ranks.find(rank);
    const std::string name = info == timeline.ranks.end() ? "" : info->second.host;
    const auto place = name.empty() ? places.end() : places.find(name);
    if (place == places.end()) {
      if (!name.empty()) places[name] = hosts.size();
      hosts.push_back({name, {rank}, span});
      continue;
    }
    ClockHost& host = hosts[place->second];
    host.ranks.push_back(rank);
    host.span.begin = std::min(host.span.begin, span.begin);
    host.span.end = std::max(host.span.end, span.end);
  }
  return hosts;
}

std::vector<ClockHost> clockRanksOf(const Timeline& timeline, int threads) {
  std::vector<ClockHost> ranks;
  for (const auto& [rank, span] : spansOfRanks(timeline, threads)) {
    ranks.push_back({"", {rank}, span});
  }
  return ranks;
}

std::vector<Crossing> crossingsOf(const Timeline& timeline, const std::vector<ClockHost>& hosts,
                                  int threads) {
  std::vector<Crossing> crossings;
  visitCrossings(timeline, hosts, threads,
                 [&](const Crossing& each) { crossings.push_back(each); });
  return crossings;
}

void visitCrossings(const Timeline& timeline, const std::vector<ClockHost>& hosts, int threads,
                    const std::function<void(const Crossing&)>& visit) {
  if (hosts.size() < 2) return;
  HostsOfRanks hostOf;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    for (const int rank : hosts[i].ranks) hostOf[rank] = i;
  }
  const auto hasBytes = [&](const Event& event) { return bytesOf(timeline, event).has_value(); };
  const std::vector<MatchedMessage> messages = matchedMessages(timeline, {}, threads);
  for (auto message = messages.begin(); message != messages.end();) {
    const int sender = message->sender;
    const int receiver = message->receiver;
    const std::size_t from = hostOf.at(sender);
    const std::size_t to = hostOf.at(receiver);
    for (; message != messages.end() && message->sender == sender && message->receiver == receiver;
         ++message) {
      // A rank that gives up logs the receive for which it waited in vain, without bytes.
      if (from == to || (hasBytes(*message->send) && !hasBytes(*message->receive))) continue;
      visit(
          {from, to, message->send->begin, message->receive->end, sender, receiver, message->send});
    }
  }
  for (const auto& [group, ranks] : collectivesOf(timeline)) {
    const std::size_t count = ranks.begin()->second.size();
    const bool haveAll = std::all_of(ranks.begin(), ranks.end(),
                                     [&](const auto& rank) { return rank.second.size() == count; });
    for (std::size_t n = 0; haveAll && n < count; ++n) visitCollective(ranks, n, hostOf, visit);
  }
}

}  // namespace pipetrace
