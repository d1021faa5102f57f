#include "runtime/control/verdict/verdict.h"

#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"

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

}  // namespace

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

}  // namespace pipetrace
