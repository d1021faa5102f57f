#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "schedule/costs.h"
#include "schedule/plan.h"
#include "schedule/testing/second_opinion.h"

namespace pipetrace::test {

/// When the actions of a plan run, found in another way than simulate() does: the time goes on by
/// one nanosecond, and all ranks do what they can do then. For plans that can run, with short jobs,
/// without bandwidth and faults; links take costs.transfer. It has no lr, no optimizer and no
/// REDUCE_GRAD at the end of a step, but the updates of asynchronous plans.
class SecondClock {
 public:
  SecondClock(const Plan& plan, const Costs& costs, int steps = 1)
      : plan_(plan), costs_(costs), steps_(steps), ranks_(plan.ranks.size()) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (const Action& action : plan.ranks[r]) {
        full_ = full_ || isTransfer(action.kind);
      }
    }
    for (now_ = 0; !isDone() && now_ < kLatest; ++now_) {
      for (bool moved = true; moved;) {
        moved = false;
        for (int r = 0; r < plan.numRanks(); ++r) moved = advance(r) || moved;
      }
    }
  }

  /// The end of the last job.
  Nanoseconds length() const { return length_; }
  /// By rank: when its compute jobs began, step after step.
  std::vector<Nanoseconds> begins(int rank) const {
    return ranks_[static_cast<std::size_t>(rank)].begins;
  }

 private:
  static constexpr Nanoseconds kLatest = 100'000;
  using Key = std::tuple<int, char, int, int>;  // step, letter (F, or B for both kinds), stage, m

  struct Rank {
    std::size_t next = 0;
    bool isRunning = false;
    Nanoseconds busyUntil = 0;
    std::vector<Key> unsent;
    std::vector<Nanoseconds> begins;
  };
  struct Message {
    Nanoseconds sent = kLatest;
    Nanoseconds posted = kLatest;
  };
  struct Channel {
    int sent = 0;
    std::vector<Nanoseconds> acknowledged;  // when the sender knows
  };

  int home(int s, int m) const { return plan_.rankOf(s, m); }
  std::size_t sizeOf(int r) const { return plan_.ranks[static_cast<std::size_t>(r)].size(); }

  bool isDone() const {
    for (int r = 0; r < plan_.numRanks(); ++r) {
      const Rank& rank = ranks_[static_cast<std::size_t>(r)];
      const bool done = rank.next == sizeOf(r) * static_cast<std::size_t>(steps_);
      if (!done || rank.isRunning || !rank.unsent.empty()) return false;
      if (rank.busyUntil >= now_ && now_ > 0) return false;  // with an update
    }
    return true;
  }

  bool advance(int r) {
    Rank& rank = ranks_[static_cast<std::size_t>(r)];
    if (rank.busyUntil > now_) return false;
    if (rank.isRunning) {
      rank.isRunning = false;
      finish(r, rank.next - 1);
      return true;
    }
    if (!rank.unsent.empty()) {
      if (!send(rank.unsent.front(), r)) return false;
      rank.unsent.erase(rank.unsent.begin());
      return true;
    }
    if (plan_.isAsynchronous() && rank.next > 0 && isBeforeWork(r, rank.next)) {
      const int step = stepOf(r, rank.next - 1);
      const int stage = stageToUpdate(r, step);
      if (stage >= 0) return update(r, step, stage);
    }
    if (rank.next == sizeOf(r) * static_cast<std::size_t>(steps_)) return false;
    return begin(r, rank);
  }

  bool isBeforeWork(int r, std::size_t number) const {
    return number % sizeOf(r) == 0 || isCompute(at(r, number).kind);
  }

  /// A stage whose next update a rank has come to; below 0: none.
  int stageToUpdate(int r, int step) {
    for (int s = 0; s < plan_.numStages; ++s) {
      const std::vector<int> ranks = plan_.ranksOf(s);
      if (std::find(ranks.begin(), ranks.end(), r) == ranks.end()) continue;
      if (updated_[{step, s, r}] < updatesComeTo(plan_, s, r, ended_[{step, s}])) return s;
    }
    return -1;
  }

  /// Waits for the stage's other ranks. Returns whether anything has changed.
  bool update(int r, int step, int s) {
    int& number = updated_[{step, s, r}];
    std::set<int>& come = come_[{step, s, number}];
    const bool isNew = come.insert(r).second;
    const std::size_t ranks = plan_.ranksOf(s).size();
    if (come.size() < ranks) return isNew;
    ++number;
    const Nanoseconds reduction =
        ranks > 1 ? costs_.stages[static_cast<std::size_t>(s)].reduction : 0;
    length_ = std::max(length_, now_ + reduction + costs_.optimizer);
    ranks_[static_cast<std::size_t>(r)].busyUntil = now_ + reduction + costs_.optimizer;
    return true;
  }

  const Action& at(int r, std::size_t number) const {
    return plan_.ranks[static_cast<std::size_t>(r)][number % sizeOf(r)];
  }
  int stepOf(int r, std::size_t number) const { return static_cast<int>(number / sizeOf(r)); }

  bool begin(int r, Rank& rank) {
    const Action& action = at(r, rank.next);
    const int step = stepOf(r, rank.next);
    const bool isBegun = action.part > 0;  // it goes on with what the part before it has begun
    for (const auto& [letter, s, m] : isBegun ? std::vector<Item>() : itemsOf(action)) {
      if (letter == 's' && !send({step, 'F', s, m}, r)) return false;
      if (letter == 'S') send({step, 'B', s, m}, r);
      if (letter == 'r') messages_[{step, 'F', s - 1, m}].posted = now_;
      if (letter == 'R') messages_[{step, 'B', s + 1, m}].posted = now_;
      if (letter == 'F' && !has({step, 'F', s - 1, m}, r)) return false;
      if ((letter == 'B' || letter == 'I') && !has({step, 'B', s + 1, m}, r)) return false;
    }
    ++rank.next;
    if (isTransfer(action.kind)) return true;
    rank.begins.push_back(now_);
    rank.isRunning = true;
    rank.busyUntil = now_ + costOf(action);
    return true;
  }

  /// Whether what a stage makes is on a rank.
  bool has(const Key& made, int r) const {
    const auto [step, letter, s, m] = made;
    if (s < 0 || s >= plan_.numStages) return true;
    if (home(s, m) == r) return done_.count(made) > 0;
    const auto found = messages_.find(made);
    if (found == messages_.end()) return false;
    const Message& message = found->second;
    const Nanoseconds from = full_ ? std::max(message.sent, message.posted) : message.sent;
    return from + costs_.transfer <= now_;
  }

  bool send(const Key& made, int r) {
    const auto [step, letter, s, m] = made;
    if (letter == 'F' && plan_.credits > 0) {
      Channel& channel = channels_[{r, home(s + 1, m)}];
      const auto known = std::count_if(channel.acknowledged.begin(), channel.acknowledged.end(),
                                       [&](Nanoseconds time) { return time <= now_; });
      if (channel.sent - known >= plan_.credits) return false;
      ++channel.sent;
    }
    messages_[made].sent = now_;
    return true;
  }

  void finish(int r, std::size_t number) {
    length_ = std::max(length_, now_);
    if (!at(r, number).isLastPart()) return;
    const int step = stepOf(r, number);
    for (const auto& [letter, s, m] : itemsOf(at(r, number))) {
      if (letter == 'B' || letter == 'W') ended_[{step, s}].insert(m);
      if (letter == 'W' || letter == 'C') continue;
      const char made = letter == 'F' ? 'F' : 'B';
      done_.insert({step, made, s, m});
      if (made == 'F' && s > 0 && home(s - 1, m) != r) {
        channels_[{home(s - 1, m), r}].acknowledged.push_back(now_ + costs_.transfer);
      }
      const int to = made == 'F' ? s + 1 : s - 1;
      if (full_ || to < 0 || to >= plan_.numStages || home(to, m) == r) continue;
      ranks_[static_cast<std::size_t>(r)].unsent.push_back({step, made, s, m});
    }
  }

  Nanoseconds costOf(const Action& action) const {
    const StageCosts& stage = costs_.stages[static_cast<std::size_t>(action.stage)];
    switch (action.kind) {
      case JobKind::kForward: return stage.forward;
      case JobKind::kBackward: return timeOfPartByHand(stage, stage.backward, action);
      case JobKind::kBackwardInput: return stage.backwardInput;
      case JobKind::kBackwardWeight: return timeOfPartByHand(stage, stage.backwardWeight, action);
      case JobKind::kRecompute: return stage.recompute;
      default:
        return stage.forward +
               costs_.stages[static_cast<std::size_t>(action.backwardStage)].backward;
    }
  }

  const Plan& plan_;
  const Costs& costs_;
  int steps_;
  bool full_ = false;
  Nanoseconds now_ = 0;
  Nanoseconds length_ = 0;
  std::vector<Rank> ranks_;
  std::map<Key, Message> messages_;
  std::map<std::pair<int, int>, Channel> channels_;
  std::set<Key> done_;
  // For asynchronous plans.
  std::map<std::pair<int, int>, std::set<int>> ended_;       // by step and stage: micro-batches
  std::map<std::tuple<int, int, int>, int> updated_;         // by step, stage and rank
  std::map<std::tuple<int, int, int>, std::set<int>> come_;  // by step, stage and update: ranks
};

}  // namespace pipetrace::test
