#include "chart/testing/timelines.h"

#include <algorithm>
#include <vector>

namespace pipetrace {
namespace {

constexpr Nanoseconds kLr = kNsPerMs / 10;
constexpr Nanoseconds kOptimizer = 2 * kNsPerMs;
constexpr Nanoseconds kTransfer = kNsPerMs;

struct PlannedJob {
  bool isForward;
  int microBatch;
};

std::vector<PlannedJob> orderOf(const TestRun& run, int rank) {
  const int warmUp = std::min(run.ranks - rank - 1, run.microBatches);
  std::vector<PlannedJob> order;
  int forward = 0;
  while (forward < warmUp) order.push_back({true, forward++});
  for (int backward = 0; backward < run.microBatches; ++backward) {
    if (forward < run.microBatches) order.push_back({true, forward++});
    order.push_back({false, backward});
  }
  return order;
}

class Builder {
 public:
  explicit Builder(const TestRun& run) : run_(run), jobs_(static_cast<std::size_t>(run.ranks)) {
    for (int rank = 0; rank < run.ranks; ++rank) {
      timeline_.track(rank, kComputeLane);
      RankInfo& info = timeline_.ranks[rank];
      info.schedule = "1F1B";
      info.worldSize = info.numStages = run.ranks;
      info.numMicroBatches = run.microBatches;
    }
  }

  Timeline build() {
    Nanoseconds begin = kTestEpoch;
    for (int step = 0; step < run_.steps; ++step) begin = addStep(step, begin);
    timeline_.sort();
    return std::move(timeline_);
  }

 private:
  Event& add(int rank, std::string_view lane, JobKind kind, Nanoseconds begin,
             Nanoseconds duration) {
    Event event;
    event.kind = kind;
    event.begin = begin;
    event.end = begin + duration;
    event.step = step_;
    event.stage = rank;
    event.chunk = 0;
    event.job = ++jobs_[static_cast<std::size_t>(rank)];
    return timeline_.track(rank, lane).events.emplace_back(event);
  }

  void addTransfer(int from, int to, bool isForward, int microBatch, Nanoseconds begin) {
    if (!run_.hasTransfers) return;
    Event& send = add(from, kSendLane, isForward ? JobKind::kSendForward : JobKind::kSendBackward,
                      begin, kTransfer);
    send.microBatch = microBatch;
    send.peer = to;
    const Argument bytes = Argument::ofInteger(timeline_.strings.intern("bytes"), 1 << 20);
    timeline_.setArguments(send, {&bytes, 1});
    Event& recv = add(to, kRecvLane, isForward ? JobKind::kRecvForward : JobKind::kRecvBackward,
                      begin, kTransfer);
    recv.microBatch = microBatch;
    recv.peer = from;
  }

  /// The time at which the input of a job is there; kNsMax while that is not known.
  Nanoseconds inputOf(int rank, const PlannedJob& job, Nanoseconds begin) const {
    const auto r = static_cast<std::size_t>(rank);
    const auto mb = static_cast<std::size_t>(job.microBatch);
    if (job.isForward) return rank == 0 ? begin : forwardEnd_[r - 1][mb];
    return rank == run_.ranks - 1 ? forwardEnd_[r][mb] : backwardEnd_[r + 1][mb];
  }

  void addJob(int rank, const PlannedJob& job, Nanoseconds begin) {
    const Nanoseconds duration = job.isForward ? run_.forward : run_.backward;
    const int to = job.isForward ? rank + 1 : rank - 1;
    Event& event = add(rank, kComputeLane, job.isForward ? JobKind::kForward : JobKind::kBackward,
                       begin, duration);
    event.microBatch = job.microBatch;
    const bool isSent = to >= 0 && to < run_.ranks;
    auto& ends = job.isForward ? forwardEnd_ : backwardEnd_;
    ends[static_cast<std::size_t>(rank)][static_cast<std::size_t>(job.microBatch)] =
        begin + duration + (isSent && run_.hasTransfers ? kTransfer : 0);
    if (isSent) addTransfer(rank, to, job.isForward, job.microBatch, begin + duration);
  }

  Nanoseconds addStep(int step, Nanoseconds begin) {
    step_ = step;
    const auto ranks = static_cast<std::size_t>(run_.ranks);
    const std::vector<Nanoseconds> unknown(static_cast<std::size_t>(run_.microBatches), kNsMax);
    forwardEnd_.assign(ranks, unknown);
    backwardEnd_.assign(ranks, unknown);
    std::vector<std::vector<PlannedJob>> orders;
    for (int rank = 0; rank < run_.ranks; ++rank) {
      orders.push_back(orderOf(run_, rank));
      add(rank, kComputeLane, JobKind::kLr, begin, kLr).microBatch = 0;
    }
    std::vector<std::size_t> next(ranks, 0);
    std::vector<Nanoseconds> free(ranks, begin + kLr);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t r = 0; r < ranks; ++r) {
        if (next[r] == orders[r].size()) continue;
        const PlannedJob job = orders[r][next[r]];
        const Nanoseconds input = inputOf(static_cast<int>(r), job, begin);
        if (input == kNsMax) continue;
        const Nanoseconds start = std::max(free[r], input);
        if (run_.hasBubbles && start > free[r]) addBubble(static_cast<int>(r), free[r], start);
        addJob(static_cast<int>(r), job, start);
        free[r] = start + (job.isForward ? run_.forward : run_.backward);
        ++next[r];
        moved = true;
      }
    }
    return finishStep(free);
  }

  Nanoseconds finishStep(const std::vector<Nanoseconds>& free) {
    const Nanoseconds last = *std::max_element(free.begin(), free.end());
    for (int rank = 0; rank < run_.ranks; ++rank) {
      const Nanoseconds from = free[static_cast<std::size_t>(rank)];
      if (run_.hasBubbles && from < last) addBubble(rank, from, last);
      add(rank, kComputeLane, JobKind::kOptimizer, last, kOptimizer).microBatch = 0;
    }
    return last + kOptimizer;
  }

  void addBubble(int rank, Nanoseconds begin, Nanoseconds end) {
    Event& bubble = add(rank, kBubbleLane, JobKind::kBubble, begin, end - begin);
    bubble.bubbleClass = BubbleClass::kUnknown;
  }

  TestRun run_;
  Timeline timeline_;
  std::vector<std::int64_t> jobs_;
  std::vector<std::vector<Nanoseconds>> forwardEnd_;
  std::vector<std::vector<Nanoseconds>> backwardEnd_;
  std::int32_t step_ = 0;
};

}  // namespace

Timeline makeTestTimeline(const TestRun& run) { return Builder(run).build(); }

}  // namespace pipetrace
