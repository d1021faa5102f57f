#include "schedule/builders/squeeze.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace pipetrace {
namespace {

constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

/// A job overtakes at most this many others, so that the work stays linear.
constexpr int kLongestOvertaking = 1000;

/// The jobs of one pass on one stage, in their places in the rank's order.
struct Queue {
  int stage = 0;
  bool isForward = false;
  std::vector<int> places;
  std::size_t done = 0;

  bool isDone() const { return done == places.size(); }
  int place() const { return places[done]; }
};

struct RankState {
  std::vector<Queue> queues;
  std::vector<char> isDone;  // by place
  int head = 0;              // the first place that is not done
  Nanoseconds free = 0;
  std::int64_t held = 0;     // activations
  std::int64_t pending = 0;  // of them, those that weight halves will give back
  std::vector<Action> weights;
  std::size_t weightsDone = 0;

  bool hasWeight() const { return weightsDone < weights.size(); }
};

/// The ranks, event by event: a rank becomes free, or something arrives.
class Run {
 public:
  Run(const Plan& order, const Costs& costs, const SqueezeOptions& options)
      : order_(order), costs_(costs), options_(options), plan_(order), ranks_(order.ranks.size()) {
    const auto slots =
        static_cast<std::size_t>(order.numStages) * static_cast<std::size_t>(order.numMicroBatches);
    forwardInput_.assign(slots, kNever);
    std::fill_n(forwardInput_.begin(), order.numMicroBatches, 0);
    backwardInput_.assign(slots, kNever);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      fillQueues(r);
      plan_.ranks[r].clear();
      plan_.ranks[r].reserve(order.ranks[r].size() * 3 / 2);
      events_.push({0, r});
    }
  }

  std::optional<Plan> run() {
    while (!events_.empty()) {
      const auto [time, rank] = events_.top();
      events_.pop();
      if (ranks_[rank].free <= time) decide(rank, time);
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (plan_.ranks[r].size() != order_.ranks[r].size() * 3 / 2) return std::nullopt;
    }
    return std::move(plan_);
  }

 private:
  using Moment = std::pair<Nanoseconds, std::size_t>;  // time and rank

  const StageCosts& costsOf(int stage) const {
    return costs_.stages[static_cast<std::size_t>(stage)];
  }
  std::int64_t keptByWeight(int stage) const {
    return costsOf(stage).activation - costsOf(stage).freedByInput;
  }
  std::size_t slotOf(int stage, int microBatch) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(order_.numMicroBatches) +
           static_cast<std::size_t>(microBatch);
  }

  void fillQueues(std::size_t rank) {
    RankState& state = ranks_[rank];
    state.isDone.assign(order_.ranks[rank].size(), 0);
    for (std::size_t i = 0; i < order_.ranks[rank].size(); ++i) {
      const Action& action = order_.ranks[rank][i];
      const bool isForward = action.kind == JobKind::kForward;
      auto queue = std::find_if(state.queues.begin(), state.queues.end(), [&](const Queue& q) {
        return q.stage == action.stage && q.isForward == isForward;
      });
      if (queue == state.queues.end()) {
        queue = state.queues.insert(queue, {.stage = action.stage, .isForward = isForward});
        queue->places.reserve(static_cast<std::size_t>(order_.numMicroBatches));
      }
      queue->places.push_back(static_cast<int>(i));
    }
  }

  /// Whether the memory is there for a forward at `place` and all that it overtakes, if every
  /// weight half runs when it must.
  bool leavesRoom(std::size_t rank, int place) const {
    const RankState& state = ranks_[rank];
    const auto& actions = order_.ranks[rank];
    const std::int64_t limit =
        options_.limits[rank] - costsOf(actions[static_cast<std::size_t>(place)].stage).activation;
    std::int64_t held = state.held - state.pending;
    if (place - state.head > kLongestOvertaking) return false;
    for (int i = state.head; i < place && held <= limit; ++i) {
      if (state.isDone[static_cast<std::size_t>(i)]) continue;
      const Action& action = actions[static_cast<std::size_t>(i)];
      const std::int64_t activation = costsOf(action.stage).activation;
      held += action.kind == JobKind::kForward ? activation : -activation;
    }
    return held <= limit;
  }

  /// Whether the next job of `queue` may run once its input is there.
  bool isAllowed(std::size_t rank, const Queue& queue) const {
    if (!queue.isForward) return true;
    const RankState& state = ranks_[rank];
    const bool overtakes = queue.place() > state.head;
    if (overtakes) return options_.overtake && leavesRoom(rank, queue.place());
    return state.held - state.pending + costsOf(queue.stage).activation <= options_.limits[rank];
  }

  void decide(std::size_t rank, Nanoseconds now) {
    RankState& state = ranks_[rank];
    Queue* best = nullptr;
    Nanoseconds nextArrival = kNever;
    for (Queue& queue : state.queues) {
      if (queue.isDone()) continue;
      const int microBatch = order_.ranks[rank][static_cast<std::size_t>(queue.place())].microBatch;
      const auto& inputs = queue.isForward ? forwardInput_ : backwardInput_;
      const Nanoseconds arrival = inputs[slotOf(queue.stage, microBatch)];
      if (arrival == kNever || !isAllowed(rank, queue)) continue;
      if (arrival > now) {
        nextArrival = std::min(nextArrival, arrival);
      } else if (best == nullptr || goesBefore(queue, *best)) {
        best = &queue;
      }
    }
    if (best == nullptr) {
      if (state.hasWeight() && fills(state, nextArrival - now)) startWeight(rank, now);
    } else if (best->isForward &&
               state.held + costsOf(best->stage).activation > options_.limits[rank]) {
      startWeight(rank, now);
    } else {
      start(rank, *best, now);
    }
  }

  bool goesBefore(const Queue& a, const Queue& b) const {
    if (options_.inputFirst && a.isForward != b.isForward) return b.isForward;
    return a.place() < b.place();
  }

  bool fills(const RankState& state, Nanoseconds gap) const {
    const Nanoseconds length = costsOf(state.weights[state.weightsDone].stage).backwardWeight;
    return gap >= length * options_.fillPercent / 100;
  }

  void start(std::size_t rank, Queue& queue, Nanoseconds now) {
    RankState& state = ranks_[rank];
    const auto place = static_cast<std::size_t>(queue.place());
    const Action action = order_.ranks[rank][place];
    const StageCosts& costs = costsOf(action.stage);
    const Nanoseconds end = now + (queue.isForward ? costs.forward : costs.backwardInput);
    if (queue.isForward) {
      state.held += costs.activation;
      const bool isLast = action.stage + 1 == order_.numStages;
      if (isLast) backwardInput_[slotOf(action.stage, action.microBatch)] = end;
      if (!isLast) hand(forwardInput_, rank, action.stage + 1, action.microBatch, end);
    } else {
      state.held -= costs.freedByInput;
      state.pending += keptByWeight(action.stage);
      state.weights.push_back({JobKind::kBackwardWeight, action.stage, action.microBatch});
      if (action.stage > 0) hand(backwardInput_, rank, action.stage - 1, action.microBatch, end);
    }
    state.isDone[place] = 1;
    ++queue.done;
    while (state.head < static_cast<int>(state.isDone.size()) &&
           state.isDone[static_cast<std::size_t>(state.head)]) {
      ++state.head;
    }
    occupy(rank, action, end);
  }

  void startWeight(std::size_t rank, Nanoseconds now) {
    RankState& state = ranks_[rank];
    const Action action = state.weights[state.weightsDone++];
    state.pending -= keptByWeight(action.stage);
    state.held -= keptByWeight(action.stage);
    occupy(rank, action, now + costsOf(action.stage).backwardWeight);
  }

  void occupy(std::size_t rank, const Action& action, Nanoseconds end) {
    plan_.ranks[rank].push_back(action);
    ranks_[rank].free = end;
    events_.push({end, rank});
  }

  void hand(std::vector<Nanoseconds>& inputs, std::size_t from, int stage, int microBatch,
            Nanoseconds end) {
    const auto to = static_cast<std::size_t>(order_.rankOf(stage, microBatch));
    const Nanoseconds arrival = end + (to == from ? 0 : costs_.transfer);
    inputs[slotOf(stage, microBatch)] = arrival;
    // A busy rank looks around when it is free.
    if (ranks_[to].free <= arrival) events_.push({arrival, to});
  }

  const Plan& order_;
  const Costs& costs_;
  const SqueezeOptions& options_;
  Plan plan_;
  std::vector<RankState> ranks_;
  // By stage and micro-batch, when the input of its pass is on its rank.
  std::vector<Nanoseconds> forwardInput_;
  std::vector<Nanoseconds> backwardInput_;
  std::priority_queue<Moment, std::vector<Moment>, std::greater<>> events_;
};

}  // namespace

std::optional<Plan> squeeze(const Plan& order, const Costs& costs, const SqueezeOptions& options) {
  return Run(order, costs, options).run();
}

}  // namespace pipetrace
