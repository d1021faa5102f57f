#include "schedule/builders/rank_row_writer.h"

namespace pipetrace {

RankRowWriter::RankRowWriter(Plan& plan, int rank, int planned)
    : row_(plan.ranks[static_cast<std::size_t>(rank)]) {
  const int end = plan.numMicroBatches;
  const auto addChunks = [&](std::size_t direction, int first, int last) {
    const int next = planned > 0 ? last - planned : first;
    for (int stage = 0; stage < plan.numStages; ++stage) {
      const std::vector<int>& ranks = plan.placement.ranksOf(stage);
      if (direction >= ranks.size() || ranks[direction] != rank) continue;
      chunks_.push_back({stage, first, last, next, next, next});
    }
  };
  const bool isBidirectional = plan.isBidirectional();
  const int firstReversed = isBidirectional ? plan.placement.run : end;
  addChunks(0, 0, firstReversed);
  if (isBidirectional) addChunks(1, firstReversed, end);
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
