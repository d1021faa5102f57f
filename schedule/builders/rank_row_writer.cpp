#include "schedule/builders/rank_row_writer.h"

namespace pipetrace {

RankPlan::RankPlan(Schedule& schedule, int rank, int planned)
    : row_(schedule.ranks[static_cast<std::size_t>(rank)]) {
  const auto addChunks = [&](const std::vector<int>& rankOfStage, int first, int end) {
    const int next = planned > 0 ? end - planned : first;
    for (std::size_t stage = 0; stage < rankOfStage.size(); ++stage) {
      if (rankOfStage[stage] != rank) continue;
      chunks_.push_back({static_cast<int>(stage), first, end, next, next, next});
    }
  };
  const int end = schedule.numMicroBatches;
  const int firstReversed = schedule.isBidirectional() ? schedule.firstReversed : end;
  addChunks(schedule.rankOfStage, 0, firstReversed);
  addChunks(schedule.rankOfStageReversed, firstReversed, end);
}

void RankPlan::add(JobKind kind, const Chunk& chunk, int microBatch) {
  if (chunk.has(microBatch)) row_.push_back({kind, chunk.stage, microBatch});
}

void RankPlan::forward(int chunk) { add(JobKind::kForward, at(chunk), at(chunk).forward++); }

void RankPlan::backward(int chunk) {
  add(JobKind::kBackward, at(chunk), at(chunk).backward++);
  ++at(chunk).weight;
}

void RankPlan::backwardInput(int chunk) {
  add(JobKind::kBackwardInput, at(chunk), at(chunk).backward++);
}

void RankPlan::backwardWeight(int chunk) {
  add(JobKind::kBackwardWeight, at(chunk), at(chunk).weight++);
}

void RankPlan::forwardBackward(int forwardChunk, int backwardChunk) {
  Chunk& from = at(forwardChunk);
  Chunk& back = at(backwardChunk);
  if (!from.has(from.forward) || !back.has(back.backward)) {
    forward(forwardChunk);
    backward(backwardChunk);
    return;
  }
  row_.push_back(
      {JobKind::kForwardBackward, from.stage, from.forward++, back.stage, back.backward++});
  ++back.weight;
}

}  // namespace pipetrace
