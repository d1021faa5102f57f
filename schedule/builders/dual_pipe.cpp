#include <algorithm>
#include <cstddef>
#include <deque>

#include "schedule/builders/placements.h"
#include "schedule/builders/rank_row_writer.h"
#include "schedule/builders/schedules.h"

namespace pipetrace {

namespace {

/// The size of one rank's part of DualPipe or DualPipeV.
struct DualPipeSize {
  int depth = 1;         ///< ranks from an outer one to the innermost
  int position = 0;      ///< of this rank: 0 is outermost, depth - 1 innermost
  int microBatches = 2;  ///< of each of the two streams, at least 2 * depth
};

class Steps {
 public:
  Steps(RankRowWriter& row, const DualPipeSize& size, int outer, int inner)
      : plan_(row), size_(size), f0_(outer), f1_(inner) {}

  void run() {
    const int toMiddle = size_.depth - 1 - size_.position;
    const int toEdge = size_.position + 1;
    for (int i = 0; i < 2 * toMiddle; ++i) plan_.forward(f0_);  // 1: nF0
    for (int i = 0; i < toEdge; ++i) stepF0F1();                // 2: nF0F1
    for (int i = 0; i < toMiddle; ++i) stepI1W1F1();            // 3: nI1W1F1
    const int main = size_.microBatches - 2 * size_.depth + toEdge;
    for (int i = 0; i < main; ++i) stepF0B1F1B0(i);        // 4: nF0B1F1B0
    for (int i = 0; i < toMiddle; ++i) stepB1F1B0();       // 5: nB1F1B0
    for (int i = 0; i < toEdge; ++i) stepB1B0(i, toEdge);  // 6: nB1B0
    for (int i = 0; i < toMiddle; ++i) stepWB0();          // 7: nWB0
    while (!pending_.empty()) weight();                    // 8: nW
  }

 private:
  void stepF0F1() {
    plan_.forward(f0_);
    plan_.forward(f1_);
  }
  void stepI1W1F1() {
    backwardInput(f1_);
    weight();
    plan_.forward(f1_);
  }
  void stepF0B1F1B0(int i) {
    const bool innermost = size_.position == size_.depth - 1;
    if (i == 0 && innermost) {
      // Not fused, as the neighbour waits for the forward.
      plan_.forward(f0_);
      plan_.backward(f1_);
    } else {
      plan_.forwardBackward(f0_, f1_);
    }
    plan_.forwardBackward(f1_, f0_);
  }
  void stepB1F1B0() {
    plan_.backward(f1_);
    plan_.forwardBackward(f1_, f0_);
  }
  /// Splits its backward passes from the middle of its 2n on.
  void stepB1B0(int i, int n) {
    backward(f1_, 2 * i >= n);
    backward(f0_, 2 * i + 1 >= n);
  }
  void stepWB0() {
    weight();
    backwardInput(f0_);
  }

  void backward(int chunk, bool split) {
    if (split) {
      backwardInput(chunk);
    } else {
      plan_.backward(chunk);
    }
  }
  void backwardInput(int chunk) {
    plan_.backwardInput(chunk);
    pending_.push_back(chunk);
  }
  void weight() {
    plan_.backwardWeight(pending_.front());
    pending_.pop_front();
  }

  RankRowWriter& plan_;
  const DualPipeSize& size_;
  const int f0_;
  const int f1_;
  std::deque<int> pending_;  // chunks of the input halves whose weight halves are to come
};

/// Writes the eight steps of one rank. `outer` is the chunk that takes its stream from the
/// outermost rank on. In DualPipe that is the direction that enters the pipeline on this rank's
/// half; in DualPipeV it is the first stages. `inner` is the other chunk. Source: DeepSeek's
/// DualPipe, steps 1 to 8 of its step().
void addDualPipeSteps(RankRowWriter& row, const DualPipeSize& size, int outer, int inner) {
  Steps(row, size, outer, inner).run();
}

Plan evenDualPipe(const PlanSize& size) {
  Plan plan = emptyPlan(schedules::kDualPipe, size);
  const int half = size.ranks / 2;
  const int planned = std::max(plan.placement.run, size.ranks);
  for (int rank = 0; rank < size.ranks; ++rank) {
    RankRowWriter row(plan, rank, planned);
    const bool secondHalf = rank >= half;
    const DualPipeSize ofRank{
        .depth = half, .position = std::min(rank, size.ranks - 1 - rank), .microBatches = planned};
    addDualPipeSteps(row, ofRank, secondHalf ? 1 : 0, secondHalf ? 0 : 1);
  }
  return plan;
}

/// Takes one of the middle ranks out of an even plan, and with it, in each direction, the stage
/// that it ran. A plan that could run before can run without it.
Plan withoutMiddleRank(const Plan& even, const PlanSize& size) {
  const int dropped = even.numRanks() / 2;
  Plan plan = emptyPlan(schedules::kDualPipe, size);
  const auto stageOf = [&](int stage, int microBatch) {
    const bool reversed = microBatch >= even.placement.run;
    const int gone = reversed ? even.numStages - 1 - dropped : dropped;
    return stage > gone ? stage - 1 : stage;
  };
  for (int rank = 0; rank < size.ranks; ++rank) {
    auto& row = plan.ranks[static_cast<std::size_t>(rank)];
    row = even.ranks[static_cast<std::size_t>(rank < dropped ? rank : rank + 1)];
    for (Action& action : row) {
      action.stage = stageOf(action.stage, action.microBatch);
      if (action.backwardStage < 0) continue;
      action.backwardStage = stageOf(action.backwardStage, action.backwardMicroBatch);
    }
  }
  return plan;
}

// Each stage on two ranks. The first half of the micro-batches (rounded up) runs from rank 0 on,
// the others from the last rank on. An odd number of ranks is planned as one more, without one of
// the middle two. Source: DeepSeek-V3 Technical Report, 2024, figure 5.
Plan dualPipe(const PlanSize& size) {
  if (size.ranks % 2 == 0) return evenDualPipe(size);
  return withoutMiddleRank(evenDualPipe({size.ranks + 1, size.microBatches, size.chunks}), size);
}

// One copy of the weights. Source: DeepSeek's DualPipe README; torch's ScheduleDualPipeV.
Plan dualPipeV(const PlanSize& size) {
  Plan plan = emptyPlan(schedules::kDualPipeV, size);
  const int planned = std::max(size.microBatches, 2 * size.ranks);
  for (int rank = 0; rank < size.ranks; ++rank) {
    RankRowWriter row(plan, rank, planned);
    const DualPipeSize ofRank{.depth = size.ranks, .position = rank, .microBatches = planned};
    addDualPipeSteps(row, ofRank, 0, 1);
  }
  return plan;
}

/// 3 d F + 2 B + (2 d - 1) I + W + (2 n - d - 2) FB; peak 2 d + 1. Where n >= 2 d, W <= I <= F,
/// B = I + W, FB >= F, FB >= B.
///
/// d, `depth`: ranks from an outer one to the innermost. n, `stream`: micro-batches of a stream.
/// FB: the fused pair. Where F = I that leaves the innermost ranks the (d - 1) (FB + B - 3 W) of
/// bubble of DualPipe's README. The length follows from the longest chain of jobs.
std::optional<ClosedForm> formOfStreams(const FormInput& given, int depth, int stream) {
  if (stream < 2 * depth) return {};
  if (given.w > given.i || given.i > given.f || given.b != given.i + given.w) return {};
  if (given.fb < given.f || given.fb < given.b) return {};
  const Nanoseconds length = 3 * depth * given.f + 2 * given.b + (2 * depth - 1) * given.i +
                             given.w + (2 * stream - depth - 2) * given.fb;
  return formOf(given, length, [&](int) { return 2 * depth + 1; });
}

std::optional<ClosedForm> formOfDualPipe(const FormInput& given) {
  if (given.m % 2 != 0) return {};
  return formOfStreams(given, (given.p + 1) / 2, given.m / 2);
}

std::optional<ClosedForm> formOfDualPipeV(const FormInput& given) {
  return formOfStreams(given, given.p, given.m);
}

FrameworkAnswer askDeepSpeedForDualPipeV(const PlanSize& size) {
  if (size.microBatches >= 2 * size.ranks) {
    return {
        "DualPipeVModule in place of PipelineModule (from 0.19.8 on); it does not split "
        "backwards"};
  }
  return {"DualPipeVModule needs gradient_accumulation_steps of " + std::to_string(2 * size.ranks) +
              " or more",
          false};
}

}  // namespace

const ScheduleInfo schedules::kDualPipe = complete({
    .name = "DualPipe",
    .summary = "both directions at once, forward and backward passes fused, weights twice",
    .isBidirectional = true,
    .splitsBackward = true,
    .build = dualPipe,
    .closedForm = formOfDualPipe,
    .chunkedKin = &schedules::kDualPipeV,
});

const ScheduleInfo schedules::kDualPipeV = complete({
    .name = "DualPipeV",
    .aliases = "ScheduleDualPipeV, DualPipeVParallel, Cut-in-half",
    .summary = "DualPipe cut in half: V-shaped, weights once",
    .usualChunks = 2,
    .leastChunks = 2,
    .mostChunks = 2,
    .places = StagePlaces::kVShaped,
    .splitsBackward = true,
    .build = dualPipeV,
    .closedForm = formOfDualPipeV,
    .torch = "DualPipeV",
    .deepSpeed = askDeepSpeedForDualPipeV,
});

}  // namespace pipetrace
