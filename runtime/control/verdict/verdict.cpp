#include "runtime/control/verdict/verdict.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <tuple>

#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

std::string rankName(int rank) { return "rank " + std::to_string(rank); }

std::string actionName(int rank, const ActionStatus& status, const PlanWords& words) {
  return words.action ? words.action(rank, status) : "action " + std::to_string(status.action);
}

std::string messageText(int rank, const ActionStatus& waiting, const PlanWords& words) {
  const std::string name = words.message ? words.message(rank, waiting)
                                         : "message " + std::to_string(waiting.awaited.number);
  return name + " from " + rankName(waiting.awaited.peer);
}

std::string forSoLong(const FailureCause& cause) { return " for " + formatDuration(cause.lasted); }

std::string cycleText(const FailureCause& cause, const PlanWords& words) {
  std::string text = "ranks wait for each other" + forSoLong(cause) + ":";
  for (const FailureCause::Member& member : cause.cycle) {
    text += " " + rankName(member.rank) + " " + statusText(member.rank, member.status, words) + ";";
  }
  return text + " " + rankName(cause.rank) + " stood still longest";
}

// " last seen" goes with the lowest rank: those of a host stand at different places.
std::string silenceText(const FailureCause& cause, const std::string& where) {
  if (cause.hosts.empty()) {
    return rankName(cause.rank) + " has not been heard of" + forSoLong(cause) +
           " (its process is stopped, or its host is gone), last seen " + where;
  }
  const std::string text =
      hostsText(cause.hosts) + (cause.hosts.size() == 1 ? " has" : " have") + " not been heard of";
  if (!cause.missedBy.empty()) {
    return text + " by " + hostsText(cause.missedBy) + forSoLong(cause) +
           " (the network between them is cut)";
  }
  return text + forSoLong(cause) + " (gone, cut off or stopped), " + rankName(cause.rank) +
         " last seen " + where;
}

std::string cutText(const FailureCause& cause, const std::string& where) {
  if (cause.hosts.empty())
    return rankName(cause.rank) + " no longer hears of any other rank, " + where;
  return "cut off from the other hosts: nothing has been heard of " + hostsText(cause.hosts) +
         forSoLong(cause);
}

std::string causeText(const FailureCause& cause, const PlanWords& words) {
  const std::string name = rankName(cause.rank);
  const std::string where = statusText(cause.rank, cause.status, words);
  switch (cause.kind) {
    case CauseKind::kDied: return name + " died, last seen " + where;
    case CauseKind::kFailed: return name + " failed " + where + ": " + cause.reason;
    case CauseKind::kSilent: return silenceText(cause, where);
    case CauseKind::kStalled:
      return name + " stalled: it ended no action" + forSoLong(cause) + ", " + where;
    case CauseKind::kMispaired:
      return name + " waits for a message that nobody sends: it stands" + forSoLong(cause) + " " +
             where;
    case CauseKind::kCycle: return cycleText(cause, words);
    case CauseKind::kLostPeer: return name + " lost a connection " + where + ": " + cause.reason;
    case CauseKind::kCutOff: return cutText(cause, where);
    case CauseKind::kStopped: return name + " was " + cause.reason;
  }
  return name;
}

bool isBefore(const Observation& a, const Observation& b) {
  return std::tie(a.noticed, a.cause.rank, a.cause.kind) <
         std::tie(b.noticed, b.cause.rank, b.cause.kind);
}

// How many observers noticed a rank first, and when somebody did.
struct Votes {
  int count = 0;
  Nanoseconds noticed = kNsMax;
};

bool isDeath(const Observation& one) { return one.cause.kind == CauseKind::kDied; }
bool isStop(const Observation& one) { return one.cause.kind == CauseKind::kStopped; }

int firstRank(std::span<const Observation> all) {
  // Launchers stop the other ranks when one has died.
  const bool haveAllStopped = std::all_of(all.begin(), all.end(), isStop);
  const bool hasAnyDied = std::any_of(all.begin(), all.end(), isDeath);
  std::map<int, const Observation*> firsts;  // by observer
  std::map<int, Votes> votes;                // by culprit
  for (const Observation& one : all) {
    if (isStop(one) && !haveAllStopped) continue;
    if (isSilence(one.cause.kind) && hasAnyDied) continue;
    const Observation*& first = firsts[one.observer];
    if (first == nullptr || isBefore(one, *first)) first = &one;
    Votes& culprit = votes[one.cause.rank];
    culprit.noticed = std::min(culprit.noticed, one.noticed);
  }
  for (const auto& [observer, first] : firsts) ++votes[first->cause.rank].count;
  const auto best = std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
    if (a.second.count != b.second.count) return a.second.count < b.second.count;
    if (a.second.noticed != b.second.noticed) return a.second.noticed > b.second.noticed;
    return a.first > b.first;
  });
  return best->first;
}

}  // namespace

std::string hostsText(const std::vector<HostRanks>& hosts) {
  constexpr std::size_t kMost = 8;
  std::string text = hosts.size() == 1 ? "host " : "hosts ";
  for (std::size_t at = 0; at < hosts.size(); ++at) {
    const std::size_t left = hosts.size() - at;
    // "and 1 more" is no shorter than that one host.
    if (at >= kMost && left > 1) return text + " and " + std::to_string(left) + " more";
    text += at == 0 ? "" : left == 1 ? " and " : ", ";
    text += hosts[at].name + " (" + ranksText(hosts[at].ranks) + ")";
  }
  return text;
}

std::string statusText(int rank, const ActionStatus& status, const PlanWords& words) {
  if (status.finishing) return "after its last action, waiting for the others to finish";
  std::string text = "before its first action";
  if (status.action >= 0) {
    text = (status.inside ? "in " : "after ") + actionName(rank, status, words);
  }
  text += " (" + countText(status.ended, "action") + " ended)";
  if (status.isWaiting()) text += ", waiting for " + messageText(rank, status, words);
  return text;
}

std::string verdictText(const FailureCause& cause, const PlanWords& words, int self,
                        const ActionStatus& own) {
  const std::string text = causeText(cause, words);
  if (cause.kind == CauseKind::kStopped) return self == cause.rank ? cause.reason : text;
  if (self == cause.rank && cause.hosts.empty()) return text + "; this is " + rankName(self);
  return text + "; this rank, " + std::to_string(self) + ", was " + statusText(self, own, words);
}

FailureCause firstCause(std::span<const Observation> all) {
  assert(!all.empty());
  const int rank = firstRank(all);
  const Observation* told = nullptr;
  const ActionStatus* latest = nullptr;
  for (const Observation& one : all) {
    if (one.cause.rank != rank) continue;
    const auto order = [](const Observation& o) { return std::tie(o.cause.kind, o.observer); };
    if (told == nullptr || order(one) < order(*told)) told = &one;
    if (latest == nullptr || one.cause.status.sequence > latest->sequence) {
      latest = &one.cause.status;
    }
  }
  FailureCause cause = told->cause;
  cause.status = *latest;
  return cause;
}

}  // namespace pipetrace
