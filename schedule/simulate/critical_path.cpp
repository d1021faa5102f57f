#include "schedule/simulate/critical_path.h"

#include <algorithm>
#include <map>

#include "schedule/simulate/plan_timing.h"

namespace pipetrace {
namespace {

using Link = CriticalPath::Link;
/// Goes back from the last end, and finds for each link the one that it waited for.
class WayBack {
 public:
  WayBack(const Plan& plan, const Costs& costs, const PlanTiming& timing,
          const std::vector<Nanoseconds>& begins)
      : plan_(plan), costs_(costs), timing_(timing), begins_(begins) {}

  CriticalPath from(int rank, Nanoseconds end) {
    const auto size = static_cast<int>(plan_.ranks[static_cast<std::size_t>(rank)].size());
    now_ = end;
    const bool isHeld =
        messageThatHeld(rank, size, now_ - timing_.optimizerAtEnd()) != PlanTiming::kNone;
    addJob(JobKind::kOptimizer, rank, timing_.optimizerAtEnd(),
           isHeld ? WaitReason::kCredit : WaitReason::kRank);
    if (!goBackOverReductions(rank)) goBackOnRank(rank, size);
    while (next_ != PlanTiming::kNone) {
      if (isMessage_) {
        visitMessage(next_);
      } else {
        visitAction(next_);
      }
    }
    std::reverse(path_.links.begin(), path_.links.end());
    return std::move(path_);
  }

 private:
  void add(Link link) {
    link.end = now_;
    now_ = link.begin;
    if (link.begin == link.end) return;
    path_.links.push_back(std::move(link));
  }

  void addJob(JobKind kind, int rank, Nanoseconds cost, WaitReason reason = WaitReason::kRank) {
    add({.kind = kind,
         .rank = rank,
         .text = std::string(logName(kind)),
         .begin = now_ - cost,
         .reason = reason});
  }

  /// The compute action that the rank did last before `cell`; PlanTiming::kNone: there is none.
  int computeBefore(int rank, int cell) const {
    while (--cell >= 0) {
      const int number = timing_.numberOf({rank, cell});
      if (isCompute(timing_.action(number).kind)) return number;
    }
    return PlanTiming::kNone;
  }

  /// The same, of compute actions and of data-parallel work that takes time.
  int jobBefore(int rank, int cell) const {
    while (--cell >= 0) {
      const int number = timing_.numberOf({rank, cell});
      if (isJob(number)) return number;
    }
    return PlanTiming::kNone;
  }

  bool isJob(int number) const {
    return !isTransfer(timing_.action(number).kind) && !timing_.isEmpty(number);
  }

  /// The message for whose credit the rank waited until `time`, between the compute action before
  /// `cell` and `cell`; PlanTiming::kNone: there is none.
  int messageThatHeld(int rank, int cell, Nanoseconds time) const {
    if (plan_.credits <= 0) return PlanTiming::kNone;
    const auto held = [&](int message) {
      const PlanTiming::Transfer& moved = timing_.transfer(message);
      return moved.user != PlanTiming::kNone && moved.waitedForCredit && moved.creditCame == time;
    };
    const bool isSentWhenMade = !timing_.hasTransfers() || timing_.hasLines();
    while (--cell >= 0) {
      const int number = timing_.numberOf({rank, cell});
      if (isJob(number)) {
        return isSentWhenMade && held(2 * number) ? 2 * number : PlanTiming::kNone;
      }
      if (isSentWhenMade || !isSend(timing_.action(number).kind)) continue;
      const int message = timing_.messageOfTransfer(number);
      if (held(message)) return message;
    }
    return PlanTiming::kNone;
  }

  /// Goes to what the rank did before `cell`. Updates of the weights come after the sends and the
  /// data-parallel work that follow their backward pass.
  void goBackOnRank(int rank, int cell, bool isBeforeUpdates = false) {
    isMessage_ = false;
    next_ = jobBefore(rank, cell);
    if (next_ == PlanTiming::kNone)
      return addJob(JobKind::kLr, rank, timing_.lr(), WaitReason::kStepBegin);
    if (!isBeforeUpdates) {
      const PlanTiming::Updates updates = updatesBefore({rank, cell});
      const bool meet = updates.count > 0 && timing_.meetings().of(updates.first) >= 0;
      if (meet) return goBackOverMeetings(updates);
      const Nanoseconds time = updates.count * costs_.optimizer;
      const bool isHeld = messageThatHeld(rank, cell, now_ - time) != PlanTiming::kNone;
      addJob(JobKind::kOptimizer, rank, time, isHeld ? WaitReason::kCredit : WaitReason::kRank);
    }
    const int message = messageThatHeld(rank, cell, now_);
    if (message != PlanTiming::kNone) addAcknowledgement(message);
  }

  /// Goes back over updates that waited for other ranks, to what the last of these did before.
  void goBackOverMeetings(const PlanTiming::Updates& updates) {
    int update = updates.first + updates.count - 1;
    while (true) {
      const auto at = static_cast<std::size_t>(timing_.meetings().of(update));
      const UpdateMeetings::Meeting& meeting = timing_.meetings().all()[at];
      const Reductions::Reduction& own = timing_.reductions().all()[at];
      addJob(JobKind::kOptimizer, rankOf(update), costs_.optimizer);
      const UpdateMeetings::Member& last = meeting.members[static_cast<std::size_t>(own.last)];
      add({.kind = JobKind::kAllReduce,
           .rank = last.rank,
           .cell = last.after.cell,
           .text = toText({JobKind::kReduceScatter, own.stage, -1}),
           .begin = own.begin,
           .reason = WaitReason::kMaker});
      update = last.update - 1;
      const bool followsAnother =
          timing_.updatesAfter(timing_.numberOf(last.after)).first < last.update;
      if (followsAnother) continue;
      const auto end = static_cast<int>(plan_.ranks[static_cast<std::size_t>(last.rank)].size());
      return goBackOnRank(last.rank, last.next.exists() ? last.next.cell : end,
                          /*isBeforeUpdates=*/true);
    }
  }

  int rankOf(int update) const {
    return timing_.versions().updates[static_cast<std::size_t>(update)].after.rank;
  }

  /// Goes to what the last reduction of a rank waited for. Returns whether the step ended with one.
  bool goBackOverReductions(int rank) {
    const Reductions& reductions = timing_.reductions();
    int number = reductions.lastOf(rank);
    if (number == Reductions::kNone) return false;
    while (true) {
      const Reductions::Reduction& own = reductions.all()[static_cast<std::size_t>(number)];
      const Reductions::Member& last = own.members[static_cast<std::size_t>(own.last)];
      const bool isScalarAllReduce = own.stage == kAllStages;
      const bool waited =
          isScalarAllReduce ? own.before != Reductions::kNone : last.arrived < own.begin;
      const Action cell =
          plan_.ranks[static_cast<std::size_t>(last.rank)][static_cast<std::size_t>(last.cell)];
      add({.kind = JobKind::kAllReduce,
           .rank = last.rank,
           .cell = last.cell,
           .text = toText(cell),
           .begin = own.begin,
           .reason = waited ? WaitReason::kLine : WaitReason::kMaker});
      if (!waited) {
        goBackOnRank(last.rank, last.cell, /*isBeforeUpdates=*/true);
        return true;
      }
      number = own.before;
    }
  }

  /// Goes to the action that gave the credit of a message.
  void addAcknowledgement(int message) {
    const int giver = timing_.transfer(message).giver;
    isMessage_ = false;
    next_ = giver;
    if (giver == PlanTiming::kNone) return;  // it was in the step before
    add({.kind = JobKind::kRecvForward,
         .rank = timing_.rankOf(giver),
         .peer = timing_.rankOf(PlanTiming::makerOf(message)),
         .text = toText(timing_.action(giver)),
         .begin = timing_.span(giver).end,
         .reason = WaitReason::kMaker,
         .isAcknowledgement = true});
  }

  /// When the rank was free for the action.
  Nanoseconds freeBefore(PlanIndex::Position position) const {
    const int job = jobBefore(position.rank, position.cell);
    if (job == PlanTiming::kNone)
      return begins_[static_cast<std::size_t>(position.rank)] + timing_.lr();
    const int number = computeBefore(position.rank, position.cell);
    if (number == PlanTiming::kNone) return timing_.span(job).end;
    const PlanTiming::Updates updates = updatesBefore(position);
    if (updates.count == 0) return timing_.handedOverAt(number);
    return timing_.beginOfUpdate(updates.first + updates.count - 1) + costs_.optimizer;
  }

  void visitAction(int number) {
    const PlanIndex::Position position = timing_.positionOf(number);
    const JobKind kind = timing_.action(number).kind;
    Link link{.kind = kind,
              .rank = position.rank,
              .cell = position.cell,
              .text = toText(timing_.action(number)),
              .begin = timing_.span(number).begin,
              .reason = WaitReason::kRank};
    if (const Nanoseconds late = timing_.latenessOf(number); late > 0) {
      Link job = link;
      job.reason = WaitReason::kLaunch;
      add(std::move(job));
      link.isLaunch = true;
      link.begin -= late;
    }
    const Nanoseconds free = freeBefore(position);
    int message = PlanTiming::kNone;
    for (int which = 0; which < 2 && link.begin > free; ++which) {
      const int input = timing_.inputOf(number, which);
      if (input != PlanTiming::kNone && timing_.transfer(input).end == link.begin) message = input;
    }
    if (message != PlanTiming::kNone) link.reason = WaitReason::kMessage;
    const bool isFirst = message == PlanTiming::kNone && timing_.lr() == 0 && free == link.begin &&
                         isFirstOnRank(position);
    if (isFirst) link.reason = WaitReason::kStepBegin;
    const bool isHeld =
        message == PlanTiming::kNone && (isDataParallel(kind) || !hasUpdatesBefore(position)) &&
        messageThatHeld(position.rank, position.cell, link.begin) != PlanTiming::kNone;
    if (isHeld) link.reason = WaitReason::kCredit;
    add(std::move(link));
    if (message == PlanTiming::kNone) {
      return goBackOnRank(position.rank, position.cell, isDataParallel(kind));
    }
    isMessage_ = true;
    next_ = message;
  }

  /// The updates of the weights right before an action.
  PlanTiming::Updates updatesBefore(PlanIndex::Position position) const {
    const int number = computeBefore(position.rank, position.cell);
    return number == PlanTiming::kNone ? PlanTiming::Updates{} : timing_.updatesAfter(number);
  }
  /// Whether the action may have waited for them.
  bool hasUpdatesBefore(PlanIndex::Position position) const {
    const PlanTiming::Updates updates = updatesBefore(position);
    if (updates.count == 0) return false;
    return costs_.optimizer > 0 || timing_.meetings().of(updates.first) >= 0;
  }

  bool isFirstOnRank(PlanIndex::Position position) const {
    return jobBefore(position.rank, position.cell) == PlanTiming::kNone;
  }

  void visitMessage(int message) {
    const PlanTiming::Transfer& moved = timing_.transfer(message);
    const Action& maker = timing_.action(PlanTiming::makerOf(message));
    const PlannedMessages made = messagesFrom(maker);
    const Action send = sendOf(made.list[PlanTiming::isForward(message) ? 0 : made.count - 1]);
    const int sender = timing_.rankOf(PlanTiming::makerOf(message));
    const int receiver = timing_.rankOf(moved.user);
    Link link{.kind = send.kind,
              .rank = sender,
              .peer = receiver,
              .text = toText(send),
              .begin = moved.begin};
    if (timing_.hasLines()) return visitMessageOnLines(message, std::move(link));
    const bool isHeld = moved.begin == moved.sent && moved.waitedForCredit;
    link.reason = isHeld                        ? WaitReason::kCredit
                  : moved.begin == moved.sent   ? WaitReason::kMaker
                  : moved.begin == moved.posted ? WaitReason::kReceive
                                                : WaitReason::kLink;
    const WaitReason reason = link.reason;
    add(std::move(link));
    if (reason == WaitReason::kCredit) {
      addAcknowledgement(message);
    } else if (reason == WaitReason::kLink) {
      next_ = messageBefore(message);
    } else if (reason == WaitReason::kReceive) {
      goBackOnRank(receiver, timing_.positionOf(moved.receive).cell, true);
    } else if (moved.send != PlanTiming::kNone) {
      goBackOnRank(sender, timing_.positionOf(moved.send).cell, true);
    } else {
      goBackOnRank(sender, timing_.positionOf(PlanTiming::makerOf(message)).cell + 1, true);
    }
  }

  void visitMessageOnLines(int message, Link link) {
    const PlanTiming::Transfer& moved = timing_.transfer(message);
    const int maker = PlanTiming::makerOf(message);
    const bool isMade = timing_.span(maker).end == moved.begin;
    const bool isHeld = moved.waitedForCredit && moved.creditCame == moved.begin;
    link.reason = isMade ? WaitReason::kMaker : isHeld ? WaitReason::kCredit : WaitReason::kLine;
    add(std::move(link));
    if (isHeld) return addAcknowledgement(message);
    isMessage_ = !isMade;
    next_ = isMade                      ? maker
            : moved.begin == moved.sent ? moved.beforeOnSender
                                        : moved.beforeOnReceiver;
  }

  /// The one that kept the link busy before this one; PlanTiming::kNone: one of the step before.
  int messageBefore(int message) const {
    const int sender = timing_.rankOf(PlanTiming::makerOf(message));
    const int receiver = timing_.rankOf(timing_.transfer(message).user);
    const auto isOfLink = [&](int other) {
      const int user = timing_.transfer(other).user;
      return user != PlanTiming::kNone && timing_.rankOf(user) == receiver;
    };
    const int first = timing_.numberOf({sender, 0});
    if (!timing_.hasTransfers()) {
      for (int other = message - 1; other >= 2 * first; --other) {
        if (isOfLink(other)) return other;
      }
      return PlanTiming::kNone;
    }
    for (int number = timing_.transfer(message).send - 1; number >= first; --number) {
      if (!isSend(timing_.action(number).kind)) continue;
      const int other = timing_.messageOfTransfer(number);
      if (isOfLink(other)) return other;
    }
    return PlanTiming::kNone;
  }

  const Plan& plan_;
  const Costs& costs_;
  const PlanTiming& timing_;
  const std::vector<Nanoseconds>& begins_;
  CriticalPath path_;
  Nanoseconds now_ = 0;           // start of the link found last
  int next_ = PlanTiming::kNone;  // number of an action, or of a message
  bool isMessage_ = false;
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
  }
  return "";
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

CriticalPath findCriticalPath(const Plan& plan, const Costs& costs, const PlanTiming& timing,
                              const std::vector<Nanoseconds>& begins,
                              const std::vector<Nanoseconds>& ends) {
  const auto last = std::max_element(ends.begin(), ends.end());
  return WayBack(plan, costs, timing, begins).from(static_cast<int>(last - ends.begin()), *last);
}

}  // namespace pipetrace
