#include "runtime/control/verdict/reachability.h"

#include <algorithm>
#include <cassert>
#include <map>

namespace pipetrace {

namespace {

bool isIn(const std::vector<bool>& ranks, int rank) {
  return ranks[static_cast<std::size_t>(rank)];
}

}  // namespace

Reachability::Reachability(int self, int worldSize)
    : self_(self), missed_(static_cast<std::size_t>(worldSize)) {}

void Reachability::hostsAre(const std::vector<std::string>& hosts) {
  assert(hosts.empty() || hosts.size() == missed_.size());
  hosts_.clear();
  if (std::find(hosts.begin(), hosts.end(), "") != hosts.end()) return;
  std::map<std::string, std::size_t> places;  // in hosts_
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto [place, isNew] = places.try_emplace(hosts[rank], hosts_.size());
    if (isNew) hosts_.push_back({.name = hosts[rank], .ranks = {}});
    hosts_[place->second].ranks.push_back(static_cast<int>(rank));
  }
}

void Reachability::told(int rank, const std::vector<int>& missed) {
  hasBegun_ = true;
  std::vector<bool>& ranks = missed_[static_cast<std::size_t>(rank)];
  ranks.assign(missed_.size(), false);
  for (const int one : missed) {
    if (one >= 0 && one < size()) ranks[static_cast<std::size_t>(one)] = true;
  }
}

bool Reachability::misses(int rank, int other) const {
  return hasTold(rank) && isIn(missed_[static_cast<std::size_t>(rank)], other);
}

bool Reachability::isHeard(int rank) const {
  if (!misses(self_, rank)) return true;
  for (int one = 0; one < size(); ++one) {
    if (hasTold(one) && !misses(self_, one) && !misses(one, rank)) return true;
  }
  return false;
}

std::vector<bool> Reachability::heard() const {
  std::vector<bool> ranks;
  for (int rank = 0; rank < size(); ++rank) ranks.push_back(isHeard(rank));
  return ranks;
}

int Reachability::decider() const {
  const std::vector<bool> heard = this->heard();
  std::vector<bool> isApart(heard.size(), false);
  for (int rank = 0; rank < size(); ++rank) {
    if (!hasTold(rank) || !isIn(heard, rank)) continue;
    for (int other = 0; other < size(); ++other) {
      if (!isIn(heard, other) || !misses(rank, other)) continue;
      isApart[static_cast<std::size_t>(rank)] = true;
      isApart[static_cast<std::size_t>(other)] = true;
    }
  }
  int lowest = self_;
  for (int rank = size(); rank-- > 0;) {
    if (isIn(heard, rank)) lowest = rank;
  }
  for (int rank = 0; rank < size(); ++rank) {
    if (isIn(heard, rank) && !isIn(isApart, rank)) return rank;
  }
  return lowest;
}

std::optional<FailureCause> Reachability::cause() const {
  if (hosts_.size() < 2) return std::nullopt;
  const std::vector<bool> heard = this->heard();
  if (std::find(heard.begin(), heard.end(), false) == heard.end()) return mostMissed();
  for (const HostRanks& host : hosts_) {
    const auto isSame = [&](int rank) { return isIn(heard, rank) == isIn(heard, host.ranks[0]); };
    if (!std::all_of(host.ranks.begin(), host.ranks.end(), isSame)) return std::nullopt;
  }
  return sideOf(heard);
}

FailureCause Reachability::sideOf(const std::vector<bool>& heard) const {
  FailureCause cause;
  for (const HostRanks& host : hosts_) {
    if (!isIn(heard, host.ranks[0])) cause.hosts.push_back(host);
  }
  const auto side = std::count(heard.begin(), heard.end(), true);
  const bool isLarger = 2 * side > size() || (2 * side == size() && heard[0]);
  cause.kind = isLarger ? CauseKind::kSilent : CauseKind::kCutOff;
  const auto first = std::find(heard.begin(), heard.end(), !isLarger);
  cause.rank = static_cast<int>(first - heard.begin());
  return cause;
}

// By host, those that miss it or that it misses; nothing if only some of their ranks do.
std::optional<std::vector<std::vector<bool>>> Reachability::brokenLinks() const {
  std::vector<std::vector<bool>> links(hosts_.size(), std::vector<bool>(hosts_.size(), false));
  for (std::size_t from = 0; from < hosts_.size(); ++from) {
    for (std::size_t to = 0; to < hosts_.size(); ++to) {
      std::size_t all = 0;
      std::size_t missed = 0;
      for (const int rank : hosts_[from].ranks) {
        if (!hasTold(rank)) continue;
        const auto isMissed = [&](int other) { return misses(rank, other); };
        const std::vector<int>& others = hosts_[to].ranks;
        all += others.size();
        missed += static_cast<std::size_t>(std::count_if(others.begin(), others.end(), isMissed));
      }
      if (missed == 0) continue;
      if (missed != all || from == to) return std::nullopt;
      links[from][to] = true;
      links[to][from] = true;
    }
  }
  return links;
}

std::optional<FailureCause> Reachability::mostMissed() const {
  const auto links = brokenLinks();
  if (!links) return std::nullopt;
  std::size_t most = 0;
  FailureCause cause;
  for (std::size_t at = 0; at < hosts_.size(); ++at) {
    std::vector<HostRanks> missedBy;
    std::size_t ranks = 0;
    for (std::size_t other = 0; other < hosts_.size(); ++other) {
      if (!(*links)[at][other]) continue;
      missedBy.push_back(hosts_[other]);
      ranks += hosts_[other].ranks.size();
    }
    if (ranks == 0 || ranks < most) continue;
    most = ranks;
    cause.hosts = {hosts_[at]};
    cause.missedBy = std::move(missedBy);
  }
  if (most == 0) return std::nullopt;
  cause.kind = CauseKind::kSilent;
  cause.rank = cause.hosts[0].ranks[0];
  return cause;
}

}  // namespace pipetrace
