#include "schedule/simulate/critical_path.h"

#include <algorithm>
#include <initializer_list>
#include <map>

#include "schedule/simulate/plan_timing.h"

namespace pipetrace {
namespace {

using Index = PlanNetwork::Index;
using Kind = PlanNetwork::Kind;
using Link = CriticalPath::Link;
using Wait = PlanNetwork::Wait;

/// Goes back from the last end, from each operation to the one that it waited for.
class WayBack {
 public:
  explicit WayBack(const PlanTiming& timing) : timing_(timing), network_(timing.network()) {}

  CriticalPath from(int rank, Nanoseconds end) {
    now_ = end;
    addJob(JobKind::kOptimizer, rank, timing_.optimizerAtEnd(), WaitReason::kRank);
    for (next_ = network_.ofEnd(rank); next_ != WaitNetwork::kNone;) visit(next_);
    std::reverse(path_.links.begin(), path_.links.end());
    return std::move(path_);
  }

 private:
  /// Whose reason it is, if what comes now waited for a credit or for the step to begin.
  enum class Says { kNobody, kLastLink, kLastMessage };

  void add(Link link, Says says = Says::kNobody) {
    link.end = now_;
    now_ = link.begin;
    says_ = says;
    if (link.begin == link.end) {
      says_ = Says::kNobody;
    } else {
      path_.links.push_back(std::move(link));
    }
  }

  void addJob(JobKind kind, int rank, Nanoseconds cost, WaitReason reason) {
    add({.kind = kind,
         .rank = rank,
         .text = std::string(logName(kind)),
         .begin = now_ - cost,
         .reason = reason},
        Says::kLastLink);
  }

  std::span<const Wait> waitsOf(Index operation) const { return network_.waits().waits(operation); }

  /// The first wait with that reason, if it was over only then; null: none.
  const Wait* lastOf(Index operation, WaitReason reason, Nanoseconds time) const {
    for (const Wait& wait : waitsOf(operation)) {
      if (wait.reason == reason && timing_.endOf(wait) == time) return &wait;
    }
    return nullptr;
  }

  /// Of the waits that were over only then, the one whose reason comes first in `reasons`, else the
  /// first; null: none.
  const Wait* lastOf(Index operation, std::initializer_list<WaitReason> reasons,
                     Nanoseconds time) const {
    for (const WaitReason reason : reasons) {
      if (const Wait* wait = lastOf(operation, reason, time); wait != nullptr) return wait;
    }
    for (const Wait& wait : waitsOf(operation)) {
      if (timing_.endOf(wait) == time) return &wait;
    }
    return nullptr;
  }

  void visit(Index operation) {
    const PlanNetwork::Operation own = network_.operation(operation);
    switch (own.kind) {
      case Kind::kBegin: return visitBegin(own.number);
      case Kind::kAction: return visitAction(operation, own.number);
      case Kind::kHandOver: return goBackOnRank(operation);
      case Kind::kUpdate: return visitUpdates(operation);
      case Kind::kReduction: return visitReduction(operation, own.number);
      case Kind::kEnd: return visitEnd(operation);
      case Kind::kMessage:
      case Kind::kCarried: next_ = WaitNetwork::kNone;  // of the step before
    }
  }

  void visitBegin(int rank) {
    next_ = WaitNetwork::kNone;
    const bool isFirst = says_ == Says::kLastLink && timing_.lr() == 0;
    if (isFirst && path_.links.back().cell >= 0) {
      path_.links.back().reason = WaitReason::kStepBegin;
    }
    addJob(JobKind::kLr, rank, timing_.lr(), WaitReason::kStepBegin);
  }

  /// To what the rank did before, or what else it waited for since its last job: for the
  /// acknowledgement of a message.
  void goBackOnRank(Index operation) {
    const Says says = says_;
    if (says == Says::kLastMessage) says_ = Says::kNobody;
    const Wait* last = lastOf(operation, {WaitReason::kRank}, now_);
    next_ = last == nullptr ? WaitNetwork::kNone : last->source;
    if (last == nullptr || last->reason == WaitReason::kRank) return;
    if (says != Says::kNobody) path_.links.back().reason = last->reason;
    if (last->reason == WaitReason::kCredit) addAcknowledgement(*last, rankOf(operation));
  }

  /// The rank of a send or a hand-over.
  int rankOf(Index operation) const {
    return network_.rankOf(network_.operation(operation).number);
  }

  /// Goes to the action that gave a credit.
  void addAcknowledgement(const Wait& credit, int receiver) {
    next_ = credit.source;
    if (!network_.isAction(next_)) return;
    const int giver = network_.actionAt(next_);
    add({.kind = JobKind::kRecvForward,
         .rank = network_.rankOf(giver),
         .peer = receiver,
         .text = toText(network_.action(giver)),
         .begin = timing_.span(giver).end,
         .reason = WaitReason::kMaker,
         .isAcknowledgement = true});
  }

  void visitAction(Index operation, int number) {
    if (isTransfer(network_.action(number).kind)) {
      if (network_.hasLines()) return visitMessageOnLines(network_.messageOf(number));
      return goBackOnRank(operation);
    }
    if (timing_.isEmpty(number)) return goBackOnRank(operation);
    Link link{.kind = network_.action(number).kind,
              .rank = network_.rankOf(number),
              .cell = network_.positionOf(number).cell,
              .text = toText(network_.action(number)),
              .begin = timing_.span(number).begin,
              .reason = WaitReason::kRank};
    if (const Nanoseconds late = timing_.latenessOf(number); late > 0) {
      Link job = link;
      job.reason = WaitReason::kLaunch;
      add(std::move(job));
      link.isLaunch = true;
      link.begin -= late;
    }
    const Wait* message = nullptr;
    if (lastOf(operation, WaitReason::kRank, link.begin) == nullptr) {
      for (const Wait& wait : waitsOf(operation)) {
        const bool isLast = wait.reason == WaitReason::kMessage;
        if (isLast && timing_.endOf(wait) == link.begin) message = &wait;
      }
    }
    if (message != nullptr) link.reason = WaitReason::kMessage;
    add(std::move(link), message == nullptr ? Says::kLastLink : Says::kNobody);
    if (message == nullptr) return goBackOnRank(operation);
    visitMessage(*message);
  }

  Link linkOf(int message, Nanoseconds begin) const {
    const int maker = PlanNetwork::makerOf(message);
    const PlannedMessages made = messagesFrom(network_.action(maker));
    const Action send = sendOf(made.list[PlanNetwork::isForward(message) ? 0 : made.count - 1]);
    return {.kind = send.kind,
            .rank = network_.rankOf(maker),
            .peer = network_.rankOf(network_.userOf(message)),
            .text = toText(send),
            .begin = begin};
  }

  /// The message that a job waited for.
  void visitMessage(const Wait& wait) {
    const PlanNetwork::Operation source = network_.operation(wait.source);
    if (network_.hasLines()) return visitMessageOnLines(network_.messageOf(source.number));
    if (source.kind == Kind::kMessage) return visitMessageOnLink(source.number);
    const auto message = static_cast<int>(wait.lag);
    addMessage(message, timing_.transfer(message));
  }

  /// A message that began when it was sent, or posted.
  void addMessage(int message, const PlanTiming::Transfer& moved) {
    const bool isSent = moved.begin == moved.sent;
    Link link = linkOf(message, moved.begin);
    link.reason = isSent ? WaitReason::kMaker : WaitReason::kReceive;
    const bool mayWait = isSent && PlanNetwork::isForward(message);
    add(std::move(link), mayWait ? Says::kLastMessage : Says::kNobody);
    next_ = !isSent                   ? network_.ofAction(network_.receiveOf(message))
            : network_.hasTransfers() ? network_.ofAction(network_.sendOf(message))
                                      : network_.ofHandOver(PlanNetwork::makerOf(message));
  }

  void visitMessageOnLink(int message) {
    while (true) {
      const PlanTiming::Transfer moved = timing_.transfer(message);
      if (moved.begin == moved.sent || moved.begin == moved.posted) {
        return addMessage(message, moved);
      }
      const Wait* last = lastOf(network_.ofMessage(message), {WaitReason::kLink}, moved.begin);
      Link link = linkOf(message, moved.begin);
      link.reason = last->reason;
      add(std::move(link));
      next_ = last->source;
      const PlanNetwork::Operation before = network_.operation(next_);
      if (before.kind != Kind::kMessage) return;
      message = before.number;
    }
  }

  void visitMessageOnLines(int message) {
    const Index send = network_.ofAction(network_.sendOf(message));
    const Index receive = network_.ofAction(network_.receiveOf(message));
    const Nanoseconds begin = timing_.spanOf(send).begin;
    const Wait* last = lastOf(send, {WaitReason::kMaker, WaitReason::kCredit}, begin);
    if (last == nullptr) last = lastOf(receive, WaitReason::kLine, begin);
    Link link = linkOf(message, begin);
    link.reason = last == nullptr ? WaitReason::kLine : last->reason;
    const int sender = link.rank;
    add(std::move(link));
    next_ = last == nullptr ? WaitNetwork::kNone : last->source;
    if (last != nullptr && last->reason == WaitReason::kCredit) addAcknowledgement(*last, sender);
  }

  /// Updates of the weights that follow each other.
  void visitUpdates(Index operation) {
    const auto meeting = [&](Index update) { return network_.meetings().of(number(update)); };
    const int rank =
        network_.rankOf(network_.numberOf(timing_.versions().updates[at(operation)].after));
    if (const int met = meeting(operation); met >= 0) {
      addJob(JobKind::kOptimizer, rank, durationOf(operation), WaitReason::kRank);
      next_ = network_.ofReduction(met);
      return;
    }
    Nanoseconds time = 0;
    while (network_.operation(operation).kind == Kind::kUpdate) {
      time += durationOf(operation);
      operation = waitsOf(operation).front().source;
    }
    if (time > 0) addJob(JobKind::kOptimizer, rank, time, WaitReason::kRank);
    next_ = operation;
  }

  int number(Index operation) const { return network_.operation(operation).number; }
  std::size_t at(Index operation) const { return static_cast<std::size_t>(number(operation)); }
  Nanoseconds durationOf(Index operation) const {
    const PlanTiming::Span span = timing_.spanOf(operation);
    return span.end - span.begin;
  }

  /// Goes to the first of the last that came to it, or to the one that it follows.
  void visitReduction(Index operation, int number) {
    const Reduction& own = timing_.reductions()[static_cast<std::size_t>(number)];
    const auto last = std::max_element(own.members.begin(), own.members.end(),
                                       [](const Reduction::Member& a, const Reduction::Member& b) {
                                         return a.arrived < b.arrived;
                                       });
    const bool waited = last->arrived < own.begin;
    const bool isOfUpdate = !network_.meetings().empty();
    add({.kind = JobKind::kAllReduce,
         .rank = last->rank,
         .cell = last->cell,
         .text = toText(isOfUpdate ? Action{JobKind::kReduceScatter, own.stage, -1}
                                   : network_.action(network_.numberOf({last->rank, last->cell}))),
         .begin = own.begin,
         .reason = waited ? WaitReason::kLine : WaitReason::kMaker});
    next_ = waited
                ? network_.ofReduction(own.before)
                : waitsOf(operation)[static_cast<std::size_t>(last - own.members.begin())].source;
  }

  /// A rank was done with all else, or with the reductions of its stages.
  void visitEnd(Index operation) {
    const Nanoseconds end = timing_.spanOf(operation).end;
    const Wait* last = lastOf(operation, WaitReason::kRank, end);
    if (last == nullptr) {
      last = lastOf(operation, WaitReason::kMeeting, end);
      const bool isOfAll = !path_.links.empty() && path_.links.back().kind == JobKind::kAllReduce;
      if (isOfAll) path_.links.back().reason = WaitReason::kLine;
    }
    next_ = last->source;
  }

  const PlanTiming& timing_;
  const PlanNetwork& network_;
  CriticalPath path_;
  Nanoseconds now_ = 0;  // start of the link found last
  Index next_ = WaitNetwork::kNone;
  Says says_ = Says::kNobody;
};

}  // namespace

std::string_view toText(WaitReason reason) {
  switch (reason) {
    case WaitReason::kStepBegin: return "start of the step";
    case WaitReason::kRank: return "rank was busy";
    case WaitReason::kMessage: return "message";
    case WaitReason::kMaker: return "made then";
    case WaitReason::kLink: return "link was busy";
    case WaitReason::kReceive: return "receive was posted late";
    case WaitReason::kLine: return "line was taken";
    case WaitReason::kLaunch: return "launched late";
    case WaitReason::kCredit: return "waited for a credit";
    default: return "";
  }
}

std::vector<std::pair<std::string_view, Nanoseconds>> CriticalPath::totals() const {
  std::map<JobKind, Nanoseconds> kinds;
  Nanoseconds launches = 0;
  Nanoseconds acknowledgements = 0;
  for (const Link& link : links) {
    Nanoseconds& total = link.isLaunch            ? launches
                         : link.isAcknowledgement ? acknowledgements
                                                  : kinds[link.kind];
    total += link.end - link.begin;
  }
  std::vector<std::pair<std::string_view, Nanoseconds>> totals;
  for (const auto& [kind, time] : kinds) totals.emplace_back(logName(kind), time);
  if (launches > 0) totals.emplace_back(Link{.isLaunch = true}.name(), launches);
  if (acknowledgements > 0) {
    totals.emplace_back(Link{.isAcknowledgement = true}.name(), acknowledgements);
  }
  return totals;
}

CriticalPath findCriticalPath(const PlanTiming& timing, const std::vector<Nanoseconds>& ends) {
  const auto last = std::max_element(ends.begin(), ends.end());
  return WayBack(timing).from(static_cast<int>(last - ends.begin()), *last);
}

}  // namespace pipetrace
