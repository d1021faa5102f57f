#include "parser/testing/timelines.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace pipetrace::test {
namespace {

constexpr Nanoseconds kForward = 10'000'001;
constexpr Nanoseconds kBackward = 20'000'003;
constexpr Nanoseconds kTransfer = 500'007;

/// Simulates a run of 1F1B into a timeline.
class Run {
 public:
  Run(int ranks, int microBatches) : ranks_(ranks), microBatches_(microBatches) {
    state_.resize(static_cast<std::size_t>(ranks));
    for (int r = 0; r < ranks; ++r) {
      at(r).free = at(r).sendFree = at(r).recvFree = kEpoch;
      RankInfo& info = timeline_.ranks[r];
      info.rank = r;
      info.worldSize = info.numStages = ranks;
      info.numMicroBatches = microBatches;
      info.numChunks = 1;
      info.schedule = "1F1B";
      info.host = "node a";
      info.device = "cpu:" + std::to_string(r);
      info.clockReadings.push_back({kEpoch, 17 * r, 3});
      info.hasEnd = true;
      info.written = 5;
      info.ownCost = 12345;
    }
  }

  Timeline take(int steps) {
    for (int step = 0; step < steps; ++step) addStep(step);
    timeline_.sort();
    return std::move(timeline_);
  }

 private:
  struct Rank {
    Nanoseconds free = 0;
    Nanoseconds sendFree = 0;
    Nanoseconds recvFree = 0;
    std::vector<std::pair<JobKind, int>> plan;
    std::size_t next = 0;
    std::vector<Nanoseconds> forwardSent;  // when the message to the next rank left, by micro-batch
    std::vector<Nanoseconds> backwardSent;  // to the rank before
    std::int64_t id = 0;
  };

  Rank& at(int rank) { return state_[static_cast<std::size_t>(rank)]; }

  void addStep(int step) {
    for (int r = 0; r < ranks_; ++r) {
      Rank& rank = at(r);
      rank.plan.clear();
      rank.next = 0;
      rank.forwardSent.assign(static_cast<std::size_t>(microBatches_), -1);
      rank.backwardSent = rank.forwardSent;
      const int warmUp = std::min(ranks_ - 1 - r, microBatches_);
      for (int m = 0; m < warmUp; ++m) rank.plan.emplace_back(JobKind::kForward, m);
      for (int m = warmUp; m < microBatches_; ++m) {
        rank.plan.emplace_back(JobKind::kForward, m);
        rank.plan.emplace_back(JobKind::kBackward, m - warmUp);
      }
      for (int m = microBatches_ - warmUp; m < microBatches_; ++m) {
        rank.plan.emplace_back(JobKind::kBackward, m);
      }
      addJob(r, step, JobKind::kLr, 0, rank.free, 1'000);
    }
    for (bool moved = true; moved;) {
      moved = false;
      for (int r = 0; r < ranks_; ++r) moved = tryNext(r, step) || moved;
    }
    for (int r = 0; r < ranks_; ++r) {
      addJob(r, step, JobKind::kOptimizer, 0, at(r).free, 2'000'000);
      addSample(r, "memory", "bytes", at(r).free, 1e9 + step);
      addSample(r, "loss", "", at(r).free, 1.0 / (step + 3));
    }
  }

  bool tryNext(int r, int step) {
    Rank& rank = at(r);
    if (rank.next == rank.plan.size()) return false;
    const auto [kind, m] = rank.plan[rank.next];
    const bool isForward = kind == JobKind::kForward;
    const int source = isForward ? r - 1 : r + 1;
    Nanoseconds ready = rank.free;
    if (source >= 0 && source < ranks_) {
      const auto& sent = isForward ? at(source).forwardSent : at(source).backwardSent;
      const Nanoseconds arrived = sent[static_cast<std::size_t>(m)];
      if (arrived < 0) return false;
      addTransfer(r, step, isForward ? JobKind::kRecvForward : JobKind::kRecvBackward, m, source,
                  std::min(rank.recvFree, arrived), arrived);
      rank.recvFree = arrived;
      ready = std::max(ready, arrived);
    }
    ++rank.next;
    addJob(r, step, kind, m, ready, isForward ? kForward : kBackward);
    const int target = isForward ? r + 1 : r - 1;
    if (target >= 0 && target < ranks_) {
      const Nanoseconds begin = std::max(rank.free, rank.sendFree);
      addTransfer(r, step, isForward ? JobKind::kSendForward : JobKind::kSendBackward, m, target,
                  begin, begin + kTransfer);
      rank.sendFree = begin + kTransfer;
      (isForward ? rank.forwardSent : rank.backwardSent)[static_cast<std::size_t>(m)] =
          rank.sendFree;
    }
    return true;
  }

  Event made(int r, int step, JobKind kind, int m, Nanoseconds begin, Nanoseconds end) {
    Event event;
    event.begin = begin;
    event.end = end;
    event.kind = kind;
    event.step = step;
    event.microBatch = m;
    event.stage = r;
    event.chunk = 0;
    return event;
  }

  void addJob(int r, int step, JobKind kind, int m, Nanoseconds begin, Nanoseconds length) {
    Event event = made(r, step, kind, m, begin, begin + length);
    event.job = at(r).id++;
    event.number = m;
    if (isCompute(kind)) {
      const std::string action =
          std::to_string(r) + (kind == JobKind::kForward ? "F" : "B") + std::to_string(m);
      const Argument argument =
          Argument::ofText(timeline_.strings.intern("action"), timeline_.strings.intern(action));
      timeline_.setArguments(event, {&argument, 1});
    }
    at(r).free = event.end;
    timeline_.track(r, kComputeLane).events.push_back(event);
  }

  void addTransfer(int r, int step, JobKind kind, int m, int peer, Nanoseconds begin,
                   Nanoseconds end) {
    Event event = made(r, step, kind, m, begin, end);
    event.peer = peer;
    event.job = at(r).id;
    const Argument argument = Argument::ofInteger(timeline_.strings.intern("bytes"), 4096);
    timeline_.setArguments(event, {&argument, 1});
    timeline_.track(r, isSend(kind) ? kSendLane : kRecvLane).events.push_back(event);
  }

  void addSample(int r, const char* name, const char* unit, Nanoseconds time, double value) {
    for (CounterSeries& series : timeline_.counters) {
      if (series.rank == r && series.name == name) return series.samples.push_back({time, value});
    }
    timeline_.counters.push_back({r, name, unit, {{time, value}}});
  }

  int ranks_;
  int microBatches_;
  std::vector<Rank> state_;
  Timeline timeline_;
};

}  // namespace

Timeline oneBubble(BubbleClass bubbleClass) {
  Timeline timeline;
  timeline.track(0, kBubbleLane)
      .events.push_back({.begin = kEpoch,
                         .end = kEpoch + 5,
                         .kind = JobKind::kBubble,
                         .bubbleClass = bubbleClass});
  return timeline;
}

std::string withLaunchForSteady(std::string profile) {
  const std::string_view now = "steady";
  const std::string_view then = "launch";
  for (std::size_t at = profile.find(now); at != std::string::npos; at = profile.find(now, at)) {
    profile.replace(at, now.size(), then);
  }
  return profile;
}

Timeline oneFOneB(int ranks, int microBatches, int steps) {
  return Run(ranks, microBatches).take(steps);
}

}  // namespace pipetrace::test
