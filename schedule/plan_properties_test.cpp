// check() against a second opinion: random plans, and everything that a single mistake makes of
// them. The second opinion shares no code with it: it runs all ranks at once, round after round,
// over sets of what is done.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include "schedule/add_transfers.h"
#include "schedule/check.h"
#include "schedule/schedule_writer.h"

namespace pipetrace {
namespace {

using Item = std::tuple<char, int, int>;  // F, B, I, W and s, r (forward), S, R (backward)

std::vector<Item> itemsOf(const Action& a) {
  switch (a.kind) {
    case JobKind::kForward: return {{'F', a.stage, a.microBatch}};
    case JobKind::kBackward: return {{'B', a.stage, a.microBatch}};
    case JobKind::kBackwardInput: return {{'I', a.stage, a.microBatch}};
    case JobKind::kBackwardWeight: return {{'W', a.stage, a.microBatch}};
    case JobKind::kForwardBackward:
      return {{'F', a.stage, a.microBatch}, {'B', a.backwardStage, a.backwardMicroBatch}};
    case JobKind::kSendForward: return {{'s', a.stage, a.microBatch}};
    case JobKind::kRecvForward: return {{'r', a.stage, a.microBatch}};
    case JobKind::kSendBackward: return {{'S', a.stage, a.microBatch}};
    case JobKind::kRecvBackward: return {{'R', a.stage, a.microBatch}};
    default: return {};
  }
}

class SecondOpinion {
 public:
  SecondOpinion(const Schedule& plan, int buffers) : plan_(plan), buffers_(buffers) {}

  bool isValid() {
    collect();
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
        for (const Item& item : itemsOf(a)) {
          all_.insert({item, r});
          ++count_;
          full_ = full_ || moves(item);
        }
      }
    }
  }
  bool has(const Item& item, int rank) const { return all_.count({item, rank}) > 0; }

  bool hasRightWork() const {
    std::size_t work = 0;
    for (int s = 0; s < plan_.numStages; ++s) {
      for (int m = 0; m < plan_.numMicroBatches; ++m) {
        const int r = home(s, m);
        const bool whole = has({'B', s, m}, r);
        const bool halves = has({'I', s, m}, r) && has({'W', s, m}, r);
        if (!has({'F', s, m}, r) || whole == halves) return false;
        work += whole ? 2 : 3;
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
    if (!full_ || home(from, m) == home(s, m)) {
      return forward ? done('F', from, m) : gradientDone(from, m);
    }
    return forward ? done('s', from, m) && done('r', s, m) : done('S', from, m) && done('R', s, m);
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
      default: return readyToMove(item, rank);
    }
  }

  bool readyToMove(const Item& item, int rank) const {
    const auto [letter, s, m] = item;
    const bool sends = letter == 's' || letter == 'S';
    const auto [other, peer] = partner(item);
    if (sends && !(letter == 's' ? done('F', s, m) : gradientDone(s, m))) return false;
    if (buffers_ == kBlocking) return done_.count(other) > 0 || meets(item, other, peer);
    if (!sends || buffers_ == kUnboundedBuffers) return true;
    int lying = 0;
    for (const Item& sent : done_) {
      const char l = std::get<0>(sent);
      if ((l != 's' && l != 'S') || home(std::get<1>(sent), std::get<2>(sent)) != rank) continue;
      const auto [receive, where] = partner(sent);
      lying += where == peer && done_.count(receive) == 0;
    }
    return lying < buffers_;
  }

  /// Both ranks stand at the two ends of one message, and there is something to send.
  bool meets(const Item& item, const Item& other, int peer) const {
    if (!isNext(other, peer)) return false;
    const auto [letter, s, m] = std::get<0>(item) == 's' || std::get<0>(item) == 'S' ? item : other;
    return letter == 's' ? done('F', s, m) : gradientDone(s, m);
  }

  bool runs() {
    next_.assign(plan_.ranks.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (int r = 0; r < plan_.numRanks(); ++r) moved = step(r) || moved;
    }
    for (std::size_t r = 0; r < next_.size(); ++r) {
      if (next_[r] < plan_.ranks[r].size()) return false;
    }
    return true;
  }

  bool step(int r) {
    const auto& actions = plan_.ranks[static_cast<std::size_t>(r)];
    std::size_t& at = next_[static_cast<std::size_t>(r)];
    if (at == actions.size()) return false;
    const std::vector<Item> items = itemsOf(actions[at]);
    if (!std::all_of(items.begin(), items.end(), [&](const Item& i) { return ready(i, r); })) {
      return false;
    }
    done_.insert(items.begin(), items.end());
    ++at;
    return true;
  }

  const Schedule& plan_;
  int buffers_;
  bool full_ = false;
  std::size_t count_ = 0;
  std::set<std::pair<Item, int>> all_;
  std::set<Item> done_;
  std::vector<std::size_t> next_;
};

bool secondOpinion(const Schedule& plan, int buffers = kUnboundedBuffers) {
  return SecondOpinion(plan, buffers).isValid();
}

/// Random plans that can run: whatever work could be done next is done next.
class RandomPlans {
 public:
  explicit RandomPlans(unsigned seed) : random_(seed) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  Schedule computeOnly() {
    plan_ = {};
    plan_.name = "random";
    const int ranks = 1 + below(4);
    plan_.ranks.resize(static_cast<std::size_t>(ranks));
    plan_.numMicroBatches = 1 + below(4);
    plan_.numStages = ranks + below(4);
    if (below(4) == 0 && plan_.numMicroBatches > 1) {
      plan_.numStages = ranks;
      plan_.firstReversed = 1 + below(plan_.numMicroBatches - 1);
    }
    for (int s = 0; s < plan_.numStages; ++s) {
      plan_.rankOfStage.push_back(s < ranks ? s : below(ranks));
    }
    std::shuffle(plan_.rankOfStage.begin(), plan_.rankOfStage.end(), random_);
    if (plan_.firstReversed > 0) {
      plan_.rankOfStageReversed.assign(plan_.rankOfStage.rbegin(), plan_.rankOfStage.rend());
    }
    fill();
    return plan_;
  }

  /// The same, in about half of the cases with its sends and receives.
  Schedule any() {
    const Schedule plan = computeOnly();
    return below(2) == 0 ? plan : addTransfers(plan, {.credits = below(4)});
  }

 private:
  void fill() {
    done_.clear();
    split_ = below(3);  // no backward pass in halves, some, all
    for (;;) {
      std::vector<Action> ready;
      for (int s = 0; s < plan_.numStages; ++s) {
        for (int m = 0; m < plan_.numMicroBatches; ++m) addReady(s, m, ready);
      }
      if (ready.empty()) return;
      const Action first = ready[static_cast<std::size_t>(below(static_cast<int>(ready.size())))];
      take(maybeFused(first, ready));
    }
  }

  bool has(char letter, int s, int m) const { return done_.count({letter, s, m}) > 0; }

  void addReady(int s, int m, std::vector<Action>& ready) {
    const bool gotInput = s == 0 || has('F', s - 1, m);
    const bool gotGradient = s + 1 == plan_.numStages || has('B', s + 1, m) || has('I', s + 1, m);
    if (!has('F', s, m)) {
      if (gotInput) ready.push_back({JobKind::kForward, s, m});
    } else if (!has('B', s, m) && !has('I', s, m)) {
      const bool halves = split_ == 2 || (split_ == 1 && (s * 7 + m * 3) % 2 == 0);
      if (gotGradient) {
        ready.push_back({halves ? JobKind::kBackwardInput : JobKind::kBackward, s, m});
      }
    } else if (has('I', s, m) && !has('W', s, m)) {
      ready.push_back({JobKind::kBackwardWeight, s, m});
    }
  }

  Action maybeFused(const Action& first, const std::vector<Action>& ready) {
    if (first.kind != JobKind::kForward || below(2) == 0) return first;
    for (const Action& other : ready) {
      if (other.kind != JobKind::kBackward) continue;
      if (plan_.rankOf(other.stage, other.microBatch) !=
          plan_.rankOf(first.stage, first.microBatch)) {
        continue;
      }
      return {JobKind::kForwardBackward, first.stage, first.microBatch, other.stage,
              other.microBatch};
    }
    return first;
  }

  void take(const Action& action) {
    for (const Item& item : itemsOf(action)) done_.insert(item);
    plan_.ranks[static_cast<std::size_t>(plan_.rankOf(action.stage, action.microBatch))].push_back(
        action);
  }

  std::mt19937 random_;
  Schedule plan_;
  std::set<Item> done_;
  int split_ = 0;
};

/// Calls visit(plan) for every single mistake of each action of the plan.
template <typename Visit>
void forEachMistake(const Schedule& plan, RandomPlans& random, const Visit& visit) {
  constexpr JobKind kKinds[] = {
      JobKind::kForward,        JobKind::kBackward,     JobKind::kBackwardInput,
      JobKind::kBackwardWeight, JobKind::kSendForward,  JobKind::kRecvForward,
      JobKind::kSendBackward,   JobKind::kRecvBackward, JobKind::kForwardBackward};
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    const auto size = static_cast<int>(plan.ranks[r].size());
    for (int cell = 0; cell < size; ++cell) {
      const auto mutated = [&](const auto& change) {
        Schedule copy = plan;
        change(copy.ranks[r], copy.ranks[r].begin() + cell);
        visit(copy);
      };
      using Row = std::vector<Action>;
      using At = Row::iterator;
      mutated([](Row& row, At at) { row.erase(at); });
      mutated([&](Row& row, At at) {
        const Action twice = *at;
        row.insert(row.begin() + random.below(size + 1), twice);
      });
      for (const int other : {cell + 1, random.below(size)}) {
        mutated([&](Row& row, At at) {
          if (other < size) std::iter_swap(at, row.begin() + other);
        });
      }
      for (int Action::*field : {&Action::stage, &Action::microBatch, &Action::backwardStage,
                                 &Action::backwardMicroBatch}) {
        for (const int by : {-1, 1}) mutated([&](Row&, At at) { (*at).*field += by; });
      }
      for (const JobKind kind : kKinds) mutated([&](Row&, At at) { at->kind = kind; });
      for (std::size_t target = 0; target < plan.ranks.size(); ++target) {
        Schedule copy = plan;
        copy.ranks[r].erase(copy.ranks[r].begin() + cell);
        auto& row = copy.ranks[target];
        row.insert(row.begin() + random.below(static_cast<int>(row.size()) + 1),
                   plan.ranks[r][static_cast<std::size_t>(cell)]);
        visit(copy);
      }
    }
  }
}

TEST(PlanProperties, RandomPlansThatCanRunPass) {
  RandomPlans random(1);
  int full = 0;
  int twoDirections = 0;
  for (int round = 0; round < 2000; ++round) {
    const Schedule plan = random.any();
    full += toCsv(plan).find("SEND") != std::string::npos;
    twoDirections += plan.isBidirectional();
    const auto problems = check(plan);
    ASSERT_TRUE(problems.empty()) << toText(problems.front()) << "\n" << toCsv(plan);
    ASSERT_TRUE(secondOpinion(plan)) << toCsv(plan);
  }
  EXPECT_GT(full, 500);
  EXPECT_GT(twoDirections, 200);
}

TEST(PlanProperties, EverySingleMistakeIsCaughtOrLeavesAPlanThatCanRun) {
  RandomPlans random(2);
  int mistakes = 0;
  int harmless = 0;
  for (int round = 0; round < 25; ++round) {
    const Schedule plan = random.any();
    forEachMistake(plan, random, [&](const Schedule& mutated) {
      const auto problems = check(mutated);
      ASSERT_EQ(problems.empty(), secondOpinion(mutated))
          << (problems.empty() ? "" : toText(problems.front())) << "\n"
          << toCsv(plan) << "became\n"
          << toCsv(mutated);
      ++mistakes;
      harmless += problems.empty();
    });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(mistakes, 8000);
  EXPECT_GT(harmless, mistakes / 100);
}

TEST(PlanProperties, DeadlocksOfBlockingAndBoundedBuffersAreThoseOfTheSecondOpinion) {
  RandomPlans random(3);
  int stuck = 0;
  int free = 0;
  for (int round = 0; round < 300; ++round) {
    const Schedule plan = random.computeOnly();
    const int credits = random.below(4);
    const Schedule full = addTransfers(plan, {.credits = credits});
    const Schedule lazy = addTransfers(plan, {.credits = 0});
    for (const int buffers : {kUnboundedBuffers, kBlocking, 1, 2, 3}) {
      const bool runs = check(full, {.buffers = buffers}).empty();
      ASSERT_EQ(runs, secondOpinion(full, buffers)) << buffers << "\n" << toCsv(full);
      ASSERT_EQ(check(plan, {.buffers = buffers}).empty(), secondOpinion(lazy, buffers))
          << buffers << "\n"
          << toCsv(plan);
      (runs ? free : stuck) += buffers != kUnboundedBuffers;
    }
  }
  EXPECT_GT(stuck, 80);
  EXPECT_GT(free, 80);
}

TEST(PlanProperties, MistakesUnderBoundedBuffersAreCaughtToo) {
  RandomPlans random(4);
  for (int round = 0; round < 4; ++round) {
    const Schedule plan = addTransfers(random.computeOnly(), {.credits = 1});
    forEachMistake(plan, random, [&](const Schedule& mutated) {
      for (const int buffers : {kBlocking, 1}) {
        ASSERT_EQ(check(mutated, {.buffers = buffers}).empty(), secondOpinion(mutated, buffers))
            << buffers << "\n"
            << toCsv(mutated);
      }
    });
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace pipetrace
