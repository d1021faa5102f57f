#include "runtime/control/verdict/jury.h"

#include <algorithm>
#include <utility>

namespace pipetrace {

Jury::Jury(int rank, int worldSize, const JuryLimits& limits, const PlanWords& words,
           Nanoseconds now)
    : rank_(rank), limits_(limits), words_(words), members_(static_cast<std::size_t>(worldSize)) {
  for (Member& one : members_) one.heard = now;
}

void Jury::own(const ActionStatus& status) {
  const bool finishing = member(rank_).status.finishing;
  member(rank_).status = status;
  member(rank_).status.finishing = finishing;
}

void Jury::heard(int from, const ControlMessage& message, Nanoseconds now) {
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

void Jury::closed(int from, Nanoseconds now) {
  Member& gone = member(from);
  if (!std::exchange(gone.isOpen, false)) return;
  // A rank that has said what ended the run may go. So may all once all have finished.
  if (gone.mayGo || gone.hasSpoken || verdict_ || isFinished()) return;
  notice(CauseKind::kDied, from, now);
}

void Jury::failed(const std::string& reason, Nanoseconds now) {
  notice(CauseKind::kFailed, rank_, now, reason);
}

void Jury::lostPeer(const std::string& reason, Nanoseconds now) {
  if (pendingSince_ != kNsMin) return;
  pendingReason_ = reason;
  pendingSince_ = now;
}

void Jury::stopped(const std::string& reason, Nanoseconds now) {
  notice(CauseKind::kStopped, rank_, now, reason);
}

void Jury::finish() {
  if (std::exchange(member(rank_).status.finishing, true)) return;
  ControlMessage message;
  message.word = ControlWord::kFinished;
  message.status = member(rank_).status;
  messages_.push_back(std::move(message));
}

void Jury::slept(Nanoseconds time, Nanoseconds now) {
  const auto later = [&](Nanoseconds when) { return std::min(when + time, now); };
  for (Member& one : members_) one.heard = later(one.heard);
  alarmed_ = later(alarmed_);
  if (pendingSince_ != kNsMin) pendingSince_ = later(pendingSince_);
  stalls_.slept(time, now);
}

void Jury::silenceCountsFrom(Nanoseconds now) {
  for (Member& one : members_) one.heard = now;
}

void Jury::tick(Nanoseconds now) {
  member(rank_).heard = now;
  if (verdict_ || isFinished()) return;
  lookForSilence(now);
  lookForStall(now);
  if (pendingSince_ != kNsMin && now - pendingSince_ >= limits_.lostPeer && observations_.empty()) {
    notice(CauseKind::kLostPeer, rank_, now, pendingReason_);
  }
  if (isTimeToDecide(now)) decide(firstCause(observations_));
}

std::vector<ControlMessage> Jury::takeMessages() { return std::exchange(messages_, {}); }

bool Jury::isFinished() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const Member& one) { return one.status.finishing; });
}

bool Jury::isSuspected(int rank) const {
  return std::any_of(observations_.begin(), observations_.end(),
                     [&](const Observation& one) { return one.cause.rank == rank; });
}

bool Jury::hasNoticed(int observer, int culprit) const {
  return std::any_of(observations_.begin(), observations_.end(), [&](const Observation& one) {
    return one.observer == observer && one.cause.rank == culprit;
  });
}

void Jury::notice(CauseKind kind, int rank, Nanoseconds now, const std::string& reason,
                  Nanoseconds lasted) {
  FailureCause cause;
  cause.kind = kind;
  cause.rank = rank;
  cause.status = member(rank).status;
  cause.lasted = lasted;
  cause.reason = reason;
  notice(std::move(cause), now);
}

void Jury::notice(FailureCause cause, Nanoseconds now) {
  if (verdict_ || hasNoticed(rank_, cause.rank)) return;
  if (observations_.empty()) alarmed_ = now;
  ControlMessage message;
  message.word = ControlWord::kNoticed;
  message.cause = cause;
  messages_.push_back(std::move(message));
  observations_.push_back({.observer = rank_, .noticed = now, .cause = std::move(cause)});
}

void Jury::lookForSilence(Nanoseconds now) {
  if (limits_.silence <= 0) return;
  std::vector<int> silent;
  std::size_t others = 0;
  for (int rank = 0; rank < static_cast<int>(members_.size()); ++rank) {
    if (rank == rank_ || !member(rank).isOpen) continue;
    ++others;
    if (now - member(rank).heard >= limits_.silence) silent.push_back(rank);
  }
  if (others > 1 && silent.size() == others) {
    notice(CauseKind::kCutOff, rank_, now);
    return;
  }
  for (const int rank : silent) {
    notice(CauseKind::kSilent, rank, now, {}, now - member(rank).heard);
  }
}

void Jury::lookForStall(Nanoseconds now) {
  if (limits_.stall.stepTimeout <= 0 || !observations_.empty()) return;
  std::vector<RankView> views;
  views.reserve(members_.size());
  for (const Member& one : members_) {
    views.push_back({.status = one.status, .silent = now - one.heard});
  }
  if (auto cause = stalls_.look(views, limits_.stall, words_, now)) notice(std::move(*cause), now);
}

bool Jury::isTimeToDecide(Nanoseconds now) const {
  if (observations_.empty()) return false;
  const Nanoseconds passed = now - alarmed_;
  if (passed >= limits_.alone) return true;
  bool isSomeoneElseThere = false;
  bool haveAllSpoken = true;
  for (int rank = 0; rank < static_cast<int>(members_.size()); ++rank) {
    const bool lives = member(rank).isOpen && !isSuspected(rank) &&
                       now - member(rank).heard < limits_.stall.silence;
    if (!lives || rank == rank_) continue;
    if (rank < rank_) return false;  // it decides
    isSomeoneElseThere = true;
    haveAllSpoken = haveAllSpoken && member(rank).hasSpoken;
  }
  if (isSuspected(rank_) && isSomeoneElseThere) return false;  // who is not suspected decides
  return haveAllSpoken || passed >= limits_.settle;
}

void Jury::decide(const FailureCause& cause) {
  if (verdict_) return;
  verdict_ = cause;
  ControlMessage message;
  message.word = ControlWord::kVerdict;
  message.cause = cause;
  messages_.push_back(std::move(message));
}

}  // namespace pipetrace
