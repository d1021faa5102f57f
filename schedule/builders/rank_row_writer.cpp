#include "schedule/builders/rank_row_writer.h"

namespace pipetrace {

RankRowWriter::RankRowWriter(Plan& plan, int rank, int planned)
    : row_(plan.ranks[static_cast<std::size_t>(rank)]) {
  const auto addChunks = [&](const std::vector<int>& rankOfStage, int first, int end) {
    const int next = planned > 0 ? end - planned : first;
    for (std::size_t stage = 0; stage < rankOfStage.size(); ++stage) {
      if (rankOfStage[stage] != rank) continue;
      chunks_.push_back({static_cast<int>(stage), first, end, next, next, next});
    }
  };
  const int end = plan.numMicroBatches;
  const int firstReversed = plan.isBidirectional() ? plan.firstReversed : end;
  addChunks(plan.rankOfStage, 0, firstReversed);
  addChunks(plan.rankOfStageReversed, firstReversed, end);
}

void RankRowWriter::add(JobKind kind, const Chunk& chunk, int microBatch) {
  if (chunk.has(microBatch)) row_.push_back({kind, chunk.stage, microBatch});
}

void RankRowWriter::forward(int chunk) { add(JobKind::kForward, at(chunk), at(chunk).forward++); }

void RankRowWriter::backward(int chunk) {
  add(JobKind::kBackward, at(chunk), at(chunk).backward++);
  ++at(chunk).weight;
}

void RankRowWriter::backwardInput(int chunk) {
  add(JobKind::kBackwardInput, at(chunk), at(chunk).backward++);
}

void RankRowWriter::backwardWeight(int chunk) {
  add(JobKind::kBackwardWeight, at(chunk), at(chunk).weight++);
}

void RankRowWriter::forwardBackward(int forwardChunk, int backwardChunk) {
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
