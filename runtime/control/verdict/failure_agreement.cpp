#include "runtime/control/verdict/failure_agreement.h"

#include <algorithm>
#include <utility>

namespace pipetrace {
namespace {

constexpr Nanoseconds kShortestBeat = 100 * kNsPerMs;
constexpr int kBeatsOfSilence = 5;  // fewer may be missed by chance

}  // namespace

FailureAgreement::FailureAgreement(int rank, int worldSize, const FailureLimits& limits,
                                   const PlanWords& words, Nanoseconds now)
    : rank_(rank),
      limits_(limits),
      words_(words),
      members_(static_cast<std::size_t>(worldSize)),
      reachability_(rank, worldSize) {
  for (Member& one : members_) one.heard = now;
}

void FailureAgreement::isInTree(const std::vector<int>& neighbours) {
  isTree_ = true;
  for (Member& one : members_) one.isWatched = false;
  for (const int rank : neighbours) member(rank).isWatched = true;
}

void FailureAgreement::own(const ActionStatus& status) {
  const bool finishing = member(rank_).status.finishing;
  member(rank_).status = status;
  member(rank_).status.finishing = finishing;
}

void FailureAgreement::heard(int from, const ControlMessage& message, Nanoseconds now) {
  Member& speaker = member(from);
  speaker.heard = now;
  switch (message.word) {
    case ControlWord::kStatus:
    case ControlWord::kFinished: {
      const bool finishing = speaker.status.finishing || message.word == ControlWord::kFinished;
      speaker.status = message.status;
      speaker.status.finishing = finishing;
      break;
    }
    case ControlWord::kNoticed:
      speaker.hasSpoken = true;
      if (observations_.empty()) alarmed_ = now;
      observations_.push_back(
          {.observer = from, .noticed = now - message.noticed, .cause = message.cause});
      // A rank knows for certain what it says of itself: this rank notices it, too.
      if (message.cause.rank == from) notice(message.cause, now);
      break;
    case ControlWord::kMissed: reachability_.told(from, message.missed); break;
    case ControlWord::kVerdict:
      speaker.mayGo = true;
      decide(message.cause);
      break;
    case ControlWord::kBye:
      speaker.mayGo = true;
      for (Member& one : members_) one.status.finishing = true;  // else it would not leave
      break;
    case ControlWord::kHello: break;
  }
}

void FailureAgreement::closed(int from, Nanoseconds now) {
  Member& gone = member(from);
  if (!std::exchange(gone.isOpen, false)) return;
  // A rank that has said what ended the run may go. So may all once all have finished.
  if (gone.mayGo || gone.hasSpoken || verdict_ || isFinished()) return;
  notice(CauseKind::kDied, from, now);
}

void FailureAgreement::failed(const std::string& reason, Nanoseconds now) {
  notice(CauseKind::kFailed, rank_, now, reason);
}

void FailureAgreement::lostPeer(const std::string& reason, Nanoseconds now) {
  if (pendingSince_ != kNsMin) return;
  pendingReason_ = reason;
  pendingSince_ = now;
}

void FailureAgreement::stopped(const std::string& reason, Nanoseconds now) {
  notice(CauseKind::kStopped, rank_, now, reason);
}

void FailureAgreement::finish() {
  if (std::exchange(member(rank_).status.finishing, true)) return;
  ControlMessage message;
  message.word = ControlWord::kFinished;
  message.status = member(rank_).status;
  messages_.push_back(std::move(message));
}

void FailureAgreement::slept(Nanoseconds time, Nanoseconds now) {
  const auto later = [&](Nanoseconds when) { return std::min(when + time, now); };
  for (Member& one : members_) one.heard = later(one.heard);
  alarmed_ = later(alarmed_);
  if (pendingSince_ != kNsMin) pendingSince_ = later(pendingSince_);
  stalls_.slept(time, now);
}

void FailureAgreement::tick(Nanoseconds now) {
  member(rank_).heard = now;
  if (verdict_ || isFinished()) return;
  lookForSilence(now);
  lookForStall(now);
  if (pendingSince_ != kNsMin && now - pendingSince_ >= limits_.lostPeer && observations_.empty()) {
    notice(CauseKind::kLostPeer, rank_, now, pendingReason_);
  }
  tellMissed(now);
  if (isTimeToDecide(now)) decide(cause());
}

std::vector<ControlMessage> FailureAgreement::takeMessages() {
  return std::exchange(messages_, {});
}

bool FailureAgreement::isFinished() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const Member& one) { return one.status.finishing; });
}

// A rank that was asked to stop lives, and may decide: where all were, each would name itself.
bool FailureAgreement::isSuspected(int rank) const {
  return std::any_of(observations_.begin(), observations_.end(), [&](const Observation& one) {
    return one.cause.rank == rank && one.cause.kind != CauseKind::kStopped;
  });
}

bool FailureAgreement::hasNoticed(int observer, int culprit) const {
  return std::any_of(observations_.begin(), observations_.end(), [&](const Observation& one) {
    return one.observer == observer && one.cause.rank == culprit;
  });
}

bool FailureAgreement::hasNoticedSilence() const {
  return std::any_of(observations_.begin(), observations_.end(), [&](const Observation& one) {
    return one.observer == rank_ && isSilence(one.cause.kind);
  });
}

void FailureAgreement::notice(CauseKind kind, int rank, Nanoseconds now, const std::string& reason,
                              Nanoseconds lasted) {
  FailureCause cause;
  cause.kind = kind;
  cause.rank = rank;
  cause.status = member(rank).status;
  cause.lasted = lasted;
  cause.reason = reason;
  notice(std::move(cause), now);
}

void FailureAgreement::notice(FailureCause cause, Nanoseconds now) {
  if (verdict_ || hasNoticed(rank_, cause.rank)) return;
  if (observations_.empty()) alarmed_ = now;
  ControlMessage message;
  message.word = ControlWord::kNoticed;
  message.cause = cause;
  messages_.push_back(std::move(message));
  observations_.push_back({.observer = rank_, .noticed = now, .cause = std::move(cause)});
}

void FailureAgreement::lookForSilence(Nanoseconds now) {
  if (limits_.silence <= 0) return;
  int others = 0;
  int silent = -1;
  Nanoseconds longest = 0;
  for (int rank = static_cast<int>(members_.size()); rank-- > 0;) {
    if (rank == rank_ || !member(rank).isOpen || !member(rank).isWatched) continue;
    ++others;
    const Nanoseconds silence = now - member(rank).heard;
    longest = std::max(longest, silence);
    if (silence >= limits_.silence) silent = rank;
  }
  if (silent < 0 || hasNoticedSilence()) return;
  if (others > 1 && static_cast<int>(missed(now).size()) == others) {
    notice(CauseKind::kCutOff, rank_, now, {}, longest);
  } else {
    notice(CauseKind::kSilent, silent, now, {}, now - member(silent).heard);
  }
}

// The ranks that fell silent together, although some were last heard up to some beats later.
std::vector<int> FailureAgreement::missed(Nanoseconds now) const {
  Nanoseconds old = limits_.stall.silence;
  if (limits_.silence > 0) old = std::min(old, limits_.silence);
  Nanoseconds longest = 0;
  for (const Member& one : members_) {
    if (one.isOpen && one.isWatched) longest = std::max(longest, now - one.heard);
  }
  std::vector<int> ranks;
  for (int rank = 0; rank < static_cast<int>(members_.size()); ++rank) {
    const Nanoseconds silence = now - member(rank).heard;
    if (rank == rank_ || !member(rank).isOpen || !member(rank).isWatched) continue;
    if (silence >= old / 2 && silence > longest - old) ranks.push_back(rank);
  }
  return ranks;
}

// Also those that miss nobody tell: a rank that somebody hears is not gone.
void FailureAgreement::tellMissed(Nanoseconds now) {
  const bool isAnyoneSilent =
      reachability_.hasBegun() ||
      std::any_of(observations_.begin(), observations_.end(),
                  [](const Observation& one) { return isSilence(one.cause.kind); });
  if (isTree_ || !isAnyoneSilent || reachability_.hasTold(rank_)) return;
  ControlMessage message;
  message.word = ControlWord::kMissed;
  message.missed = missed(now);
  reachability_.told(rank_, message.missed);
  messages_.push_back(std::move(message));
}

void FailureAgreement::lookForStall(Nanoseconds now) {
  if (limits_.stall.stepTimeout <= 0 || !observations_.empty()) return;
  if (isTree_ && rank_ != 0) return;  // it does not know where the others are
  std::vector<RankView> views;
  views.reserve(members_.size());
  for (const Member& one : members_) {
    views.push_back({.status = one.status, .silent = now - one.heard});
  }
  if (auto cause = stalls_.look(views, limits_.stall, words_, now)) notice(std::move(*cause), now);
}

bool FailureAgreement::isTimeToDecide(Nanoseconds now) const {
  if (observations_.empty()) return false;
  if (!isTree_ && isSilenceAll()) return isTimeToTellSilence(now);
  const Nanoseconds passed = now - alarmed_;
  if (passed >= limits_.alone) return true;
  bool isSomeoneElseThere = false;
  bool haveAllSpoken = true;
  for (int rank = 0; rank < static_cast<int>(members_.size()); ++rank) {
    const bool isHeard =
        !member(rank).isWatched || now - member(rank).heard < limits_.stall.silence;
    if (!member(rank).isOpen || isSuspected(rank) || !isHeard || rank == rank_) continue;
    if (rank < rank_) return false;  // it decides
    isSomeoneElseThere = true;
    haveAllSpoken = haveAllSpoken && member(rank).hasSpoken;
  }
  if (isSuspected(rank_) && isSomeoneElseThere) return false;  // who is not suspected decides
  return haveAllSpoken || passed >= limits_.settle;
}

// Whether silence is all that is known; a stop may follow from it.
bool FailureAgreement::isSilenceAll() const {
  bool isAny = false;
  for (const Observation& one : observations_) {
    isAny = isAny || isSilence(one.cause.kind);
    if (!isSilence(one.cause.kind) && one.cause.kind != CauseKind::kStopped) return false;
  }
  return isAny;
}

bool FailureAgreement::isTimeToTellSilence(Nanoseconds now) const {
  const Nanoseconds passed = now - alarmed_;
  if (passed >= 2 * limits_.alone - limits_.settle) return true;
  for (int rank = 0; rank < static_cast<int>(members_.size()) && passed < limits_.alone; ++rank) {
    const bool lives = member(rank).isOpen && !reachability_.misses(rank_, rank) &&
                       now - member(rank).heard < limits_.stall.silence;
    if (lives && !reachability_.hasTold(rank)) return false;
  }
  return reachability_.decider() == rank_;
}

FailureCause FailureAgreement::cause() const {
  FailureCause first = firstCause(observations_);
  if (!isSilence(first.kind)) return first;
  std::optional<FailureCause> byHost = reachability_.cause();
  if (!byHost) return first;
  byHost->status = member(byHost->rank).status;
  for (const Observation& one : observations_) {
    if (isSilence(one.cause.kind)) byHost->lasted = std::max(byHost->lasted, one.cause.lasted);
  }
  return *byHost;
}

void FailureAgreement::decide(const FailureCause& cause) {
  if (verdict_) return;
  verdict_ = cause;
  ControlMessage message;
  message.word = ControlWord::kVerdict;
  message.cause = cause;
  messages_.push_back(std::move(message));
}

Nanoseconds beatOf(int worldSize) {
  return std::clamp<Nanoseconds>(worldSize * 4 * kNsPerMs, kShortestBeat, kNsPerSecond);
}

FailureLimits limitsAt(Nanoseconds beat, FailureLimits limits) {
  const Nanoseconds longer = std::max<Nanoseconds>(beat - kShortestBeat, 0);
  limits.settle += longer;
  limits.alone += 2 * longer;
  limits.lostPeer += 2 * longer;  // stays longer than `alone`: it is the last cause to count
  limits.stall.silence = std::max(limits.stall.silence, kBeatsOfSilence * beat);
  if (limits.silence > 0) limits.silence = std::max(limits.silence, kBeatsOfSilence * beat);
  return limits;
}

FailureLimits limitsInTree(Nanoseconds beat, int levels, FailureLimits limits) {
  limits.settle = std::max(limits.settle, 500 * kNsPerMs);
  limits.alone = std::max(limits.alone, 2 * kNsPerSecond);
  limits.lostPeer = std::max(limits.lostPeer, 3 * kNsPerSecond);
  limits.stall.silence = std::max(limits.stall.silence, kBeatsOfSilence * beat * levels);
  if (limits.silence > 0) limits.silence = std::max(limits.silence, kBeatsOfSilence * beat);
  return limits;
}

}  // namespace pipetrace
