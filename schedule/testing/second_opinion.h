#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "schedule/check/plan_network.h"
#include "schedule/plan.h"
#include "schedule/testing/part_opinion.h"
#include "schedule/testing/update_opinion.h"

namespace pipetrace::test {

using Item =
    std::tuple<char, int, int>;  // F, B, I, W, C (recompute) and s, r (forward), S, R (backward)

inline std::vector<Item> itemsOf(const Action& a) {
  switch (a.kind) {
    case JobKind::kForward: return {{'F', a.stage, a.microBatch}};
    case JobKind::kBackward: return {{'B', a.stage, a.microBatch}};
    case JobKind::kBackwardInput: return {{'I', a.stage, a.microBatch}};
    case JobKind::kBackwardWeight: return {{'W', a.stage, a.microBatch}};
    case JobKind::kRecompute: return {{'C', a.stage, a.microBatch}};
    case JobKind::kForwardBackward:
      return {{'F', a.stage, a.microBatch}, {'B', a.backwardStage, a.backwardMicroBatch}};
    case JobKind::kSendForward: return {{'s', a.stage, a.microBatch}};
    case JobKind::kRecvForward: return {{'r', a.stage, a.microBatch}};
    case JobKind::kSendBackward: return {{'S', a.stage, a.microBatch}};
    case JobKind::kRecvBackward: return {{'R', a.stage, a.microBatch}};
    default: return {};
  }
}

/// Whether a plan can run, found in another way than check() does: all ranks at once, round after
/// round, over sets of what is done.
class SecondOpinion {
 public:
  SecondOpinion(const Plan& plan, int buffers) : plan_(plan), buffers_(buffers) {}

  bool isValid() {
    collect();
    if (!hasRightParts()) return false;
    if (plan_.credits < 0 || (!trains_ && plan_.isAsynchronous())) return false;
    return hasRightWork() && hasRightTransfers() && channelsAreInOrder() && runs();
  }

 private:
  static bool moves(const Item& item) {
    return std::string("srSR").find(std::get<0>(item)) != std::string::npos;
  }
  int home(int s, int m) const { return plan_.rankOf(s, m); }

  void collect() {
    for (int r = 0; r < plan_.numRanks(); ++r) {
      for (const Action& a : plan_.ranks[static_cast<std::size_t>(r)]) {
        hasParts_ = hasParts_ || a.isPart();
        if (!a.isLastPart()) continue;  // the last one stands for all
        for (const Item& item : itemsOf(a)) {
          all_.insert({item, r});
          ++count_;
          full_ = full_ || moves(item);
          const char letter = std::get<0>(item);
          trains_ = trains_ || letter == 'B' || letter == 'I' || letter == 'W';
        }
      }
    }
  }
  bool hasRightParts() const {
    if (!hasParts_) return true;
    return !plan_.isAsynchronous() &&
           std::all_of(plan_.ranks.begin(), plan_.ranks.end(), partsAreRight);
  }

  bool has(const Item& item, int rank) const { return all_.count({item, rank}) > 0; }

  bool hasRightWork() const {
    std::size_t work = 0;
    for (int s = 0; s < plan_.numStages; ++s) {
      for (int m = 0; m < plan_.numMicroBatches; ++m) {
        const int r = home(s, m);
        const bool whole = has({'B', s, m}, r);
        const bool halves = has({'I', s, m}, r) && has({'W', s, m}, r);
        if (!has({'F', s, m}, r) || (trains_ && whole == halves)) return false;
        work += !trains_ ? 1 : whole ? 2 : 3;
        if (!has({'C', s, m}, r)) continue;
        if (!trains_) return false;
        ++work;
      }
    }
    std::size_t transfers = 0;
    for (const auto& [item, rank] : all_) transfers += moves(item);
    return count_ == all_.size() && work + transfers == count_;
  }

  bool hasRightTransfers() const {
    if (!full_) return true;
    std::set<std::pair<Item, int>> expected;
    for (int s = 0; s + 1 < plan_.numStages; ++s) {
      for (int m = 0; m < plan_.numMicroBatches; ++m) {
        const int lower = home(s, m);
        const int upper = home(s + 1, m);
        if (lower == upper) continue;
        expected.insert({{'s', s, m}, lower});
        expected.insert({{'r', s + 1, m}, upper});
        if (!trains_) continue;
        expected.insert({{'S', s + 1, m}, upper});
        expected.insert({{'R', s, m}, lower});
      }
    }
    std::set<std::pair<Item, int>> found;
    for (const auto& entry : all_) {
      if (moves(entry.first)) found.insert(entry);
    }
    return found == expected;
  }

  /// The item at the other end of a transfer, and its rank.
  std::pair<Item, int> partner(const Item& item) const {
    const auto [letter, s, m] = item;
    const int t = letter == 's' || letter == 'R' ? s + 1 : s - 1;
    const char other = letter == 's' ? 'r' : letter == 'r' ? 's' : letter == 'S' ? 'R' : 'S';
    return {{other, t, m}, home(t, m)};
  }

  bool channelsAreInOrder() const {
    for (int a = 0; a < plan_.numRanks(); ++a) {
      for (int b = 0; b < plan_.numRanks(); ++b) {
        if (transfersOf(a, "sS", b, true) != transfersOf(b, "rR", a, false)) return false;
      }
    }
    return true;
  }
  std::vector<Item> transfersOf(int rank, const std::string& letters, int peer, bool sends) const {
    std::vector<Item> list;
    for (const Action& a : plan_.ranks[static_cast<std::size_t>(rank)]) {
      for (const Item& item : itemsOf(a)) {
        if (letters.find(std::get<0>(item)) == std::string::npos) continue;
        const auto [other, where] = partner(item);
        if (where == peer) list.push_back(sends ? other : item);
      }
    }
    return list;
  }

  bool done(char letter, int s, int m) const { return done_.count({letter, s, m}) > 0; }
  bool gradientDone(int s, int m) const { return done('B', s, m) || done('I', s, m); }

  bool arrived(bool forward, int s, int m) const {
    const int from = forward ? s - 1 : s + 1;
    if (from < 0 || from >= plan_.numStages) return true;
    if (home(from, m) == home(s, m) || (!full_ && plan_.credits == 0)) {
      return forward ? done('F', from, m) : gradientDone(from, m);
    }
    if (!full_) return done(forward ? 's' : 'S', from, m);
    const bool isPosted = done(forward ? 'r' : 'R', s, m);
    const Item send{forward ? 's' : 'S', from, m};
    const bool isAtSend = buffers_ == kPostedOnly && isNext(send, home(from, m)) &&
                          (!forward || hasCredit(home(from, m), home(s, m)));
    return isPosted && (done_.count(send) > 0 || isAtSend);
  }

  bool isNext(const Item& item, int rank) const {
    const auto& actions = plan_.ranks[static_cast<std::size_t>(rank)];
    const std::size_t at = next_[static_cast<std::size_t>(rank)];
    return at < actions.size() && itemsOf(actions[at]).front() == item;
  }

  bool ready(const Item& item, int rank) const {
    const auto [letter, s, m] = item;
    switch (letter) {
      case 'F': return arrived(true, s, m);
      case 'B':
      case 'I': return done('F', s, m) && arrived(false, s, m);
      case 'W': return done('I', s, m);
      case 'C': return done('F', s, m) && !gradientDone(s, m) && begun_.count({s, m}) == 0;
      default: return readyToMove(item, rank);
    }
  }

  bool readyToMove(const Item& item, int rank) const {
    const auto [letter, s, m] = item;
    const bool sends = letter == 's' || letter == 'S';
    const auto [other, peer] = partner(item);
    if (sends && !(letter == 's' ? done('F', s, m) : gradientDone(s, m))) return false;
    if (letter == 's' && !hasCredit(rank, peer)) return false;
    if (buffers_ == kBlocking) {
      const bool mayBeSent = letter != 'r' || hasCredit(peer, rank);
      return done_.count(other) > 0 || (mayBeSent && meets(item, other, peer));
    }
    if (!sends || buffers_ == kUnboundedBuffers) return true;
    if (buffers_ == kPostedOnly) return done_.count(other) > 0;
    int lying = 0;
    for (const Item& sent : done_) {
      const char l = std::get<0>(sent);
      if ((l != 's' && l != 'S') || home(std::get<1>(sent), std::get<2>(sent)) != rank) continue;
      const auto [receive, where] = partner(sent);
      lying += where == peer && done_.count(receive) == 0;
    }
    return lying < buffers_;
  }

  bool hasCredit(int rank, int peer) const {
    return plan_.credits <= 0 || unacknowledged(rank, peer) < plan_.credits;
  }
  /// Forward messages from a rank to a peer that are sent and whose use is not over.
  int unacknowledged(int rank, int peer) const {
    int count = 0;
    for (const auto& [letter, s, m] : done_) {
      if (letter == 's' && home(s, m) == rank && home(s + 1, m) == peer) ++count;
      if (letter == 'F' && s > 0 && home(s - 1, m) == rank && home(s, m) == peer) --count;
    }
    return count;
  }

  /// Both ranks stand at the two ends of one message, and there is something to send.
  bool meets(const Item& item, const Item& other, int peer) const {
    if (!isNext(other, peer)) return false;
    const auto [letter, s, m] = std::get<0>(item) == 's' || std::get<0>(item) == 'S' ? item : other;
    return letter == 's' ? done('F', s, m) : gradientDone(s, m);
  }

  bool runs() {
    next_.assign(plan_.ranks.size(), 0);
    come_.clear();
    unsent_.assign(plan_.ranks.size(), {});
    for (bool moved = true; moved;) {
      moved = false;
      for (int r = 0; r < plan_.numRanks(); ++r) moved = comesToUpdates(r) || step(r) || moved;
    }
    for (std::size_t r = 0; r < next_.size(); ++r) {
      if (next_[r] < plan_.ranks[r].size() || !unsent_[r].empty()) return false;
    }
    return true;
  }

  /// A rank that has sent all that it made before its next work comes to its updates. Returns
  /// whether it has come to more than before.
  bool comesToUpdates(int r) {
    if (!plan_.isAsynchronous() || !updatesFit(plan_)) return false;
    const auto& actions = plan_.ranks[static_cast<std::size_t>(r)];
    const std::size_t at = next_[static_cast<std::size_t>(r)];
    if (!unsent_[static_cast<std::size_t>(r)].empty()) return false;
    if (at < actions.size() && !isCompute(actions[at].kind)) return false;
    bool isMore = false;
    for (int s = 0; s < plan_.numStages; ++s) {
      const std::vector<int> ranks = plan_.ranksOf(s);
      if (std::find(ranks.begin(), ranks.end(), r) == ranks.end()) continue;
      std::set<int> ended;
      for (int m = 0; m < plan_.numMicroBatches; ++m) {
        if (done('B', s, m) || done('W', s, m)) ended.insert(m);
      }
      const int come = updatesComeTo(plan_, s, r, ended);
      isMore = isMore || come > come_[{r, s}];
      come_[{r, s}] = come;
    }
    return isMore;
  }

  /// Whether all ranks of its stages have come to the updates to which a rank has come.
  bool hasNewWeights(int r) {
    for (const auto& [place, come] : come_) {
      if (place.first != r) continue;
      for (const int other : plan_.ranksOf(place.second)) {
        if (come_[{other, place.second}] < come) return false;
      }
    }
    return true;
  }

  bool step(int r) {
    const auto& actions = plan_.ranks[static_cast<std::size_t>(r)];
    std::size_t& at = next_[static_cast<std::size_t>(r)];
    std::vector<Item>& unsent = unsent_[static_cast<std::size_t>(r)];
    if (!unsent.empty()) {
      if (!ready(unsent.front(), r)) return false;
      done_.insert(unsent.front());
      unsent.erase(unsent.begin());
      return true;
    }
    if (at == actions.size()) return false;
    const std::vector<Item> items = itemsOf(actions[at]);
    if (isCompute(actions[at].kind) && !hasNewWeights(r)) return false;
    // A part after the first one waits for nothing else.
    if (actions[at].part <= 0 &&
        !std::all_of(items.begin(), items.end(), [&](const Item& i) { return ready(i, r); })) {
      return false;
    }
    const Action& action = actions[at++];
    if (!action.isLastPart()) {
      if (action.kind == JobKind::kBackward) begun_.insert({action.stage, action.microBatch});
      return true;
    }
    done_.insert(items.begin(), items.end());
    if (!full_ && plan_.credits > 0) findUnsent(items);
    return true;
  }

  /// In a plan without sends each message is sent right after what makes it.
  void findUnsent(const std::vector<Item>& items) {
    for (const auto& [letter, s, m] : items) {
      const int to = letter == 'F' ? s + 1 : letter == 'W' || letter == 'C' ? -1 : s - 1;
      if (to < 0 || to >= plan_.numStages || home(to, m) == home(s, m)) continue;
      unsent_[static_cast<std::size_t>(home(s, m))].push_back({letter == 'F' ? 's' : 'S', s, m});
    }
  }

  const Plan& plan_;
  int buffers_;
  bool full_ = false;
  bool trains_ = false;
  bool hasParts_ = false;
  std::size_t count_ = 0;
  std::set<std::pair<Item, int>> all_;
  std::set<Item> done_;
  std::set<std::pair<int, int>> begun_;  // stage and micro-batch: a first part is done
  std::vector<std::size_t> next_;
  std::vector<std::vector<Item>> unsent_;    // by rank
  std::map<std::pair<int, int>, int> come_;  // by rank and stage: the updates that it has come to
};

inline bool secondOpinion(const Plan& plan, int buffers = kUnboundedBuffers) {
  return SecondOpinion(plan, buffers).isValid();
}

/// The verdict on one stage of an asynchronous plan: its WeightVersions, and whether a forward
/// needs weights that do not exist yet. Found by counting everything again after each pass.
struct VersionOpinion {
  int held = 1;
  int distance = 0;
  bool wantsTooMuch = false;
};

class StageHistory {
 public:
  StageHistory(const Plan& plan, int stage, int rank) : plan_(plan), stage_(stage), rank_(rank) {
    for (const Action& action : plan.ranks[static_cast<std::size_t>(rank)]) {
      for (const auto& [letter, s, m] : itemsOf(action)) {
        if (s != stage) continue;
        if (letter == 'F') forward(m);
        if (letter == 'B' || letter == 'W') backward(m);
      }
    }
  }
  const VersionOpinion& opinion() const { return opinion_; }

 private:
  int groupOf(int m) const {
    return m % plan_.microBatchesOfReplica() /
           plan_.updates.every[static_cast<std::size_t>(stage_)];
  }
  int updates() const { return updatesComeTo(plan_, stage_, rank_, done_); }
  int wanted(int m) const {
    return plan_.updates.doubleBuffered ? std::max(0, groupOf(m) - 1) : updates();
  }
  void forward(int m) {
    taken_[m] = wanted(m);
    opinion_.wantsTooMuch = opinion_.wantsTooMuch || taken_[m] > updates();
    countHeld();
  }
  void backward(int m) {
    const int own = plan_.updates.doubleBuffered ? groupOf(m) : updates();
    opinion_.distance = std::max(opinion_.distance, own - taken_[m]);
    done_.insert(m);
    countHeld();
  }
  void countHeld() {
    std::set<int> kept = {updates()};
    for (int m = 0; m < plan_.numMicroBatches; ++m) {
      if (plan_.rankOf(stage_, m) != rank_ || done_.count(m) > 0) continue;
      if (plan_.updates.doubleBuffered && wanted(m) < updates()) kept.insert(wanted(m));
      if (!plan_.updates.doubleBuffered && taken_.count(m) > 0) kept.insert(taken_[m]);
    }
    opinion_.held = std::max(opinion_.held, static_cast<int>(kept.size()));
  }

  const Plan& plan_;
  int stage_;
  int rank_;
  std::map<int, int> taken_;  // by micro-batch: the version of its forward
  std::set<int> done_;
  VersionOpinion opinion_;
};

/// Whether an asynchronous plan that can run keeps to these limits.
inline bool secondOpinionOfVersions(const Plan& plan, int mostVersions, int mostDistance) {
  if (!updatesFit(plan)) return false;
  for (int s = 0; s < plan.numStages; ++s) {
    for (const int rank : plan.ranksOf(s)) {
      const VersionOpinion found = StageHistory(plan, s, rank).opinion();
      if (found.wantsTooMuch || found.held > mostVersions || found.distance > mostDistance) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace pipetrace::test
