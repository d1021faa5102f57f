#pragma once

#include <cstddef>
#include <vector>

#include "schedule/schedule.h"

namespace pipetrace {

/// Writes one rank's row of a plan: each call appends that pass of the chunk's next micro-batch,
/// in the order of their numbers. What would be of a micro-batch that does not exist is left out,
/// and a fused pair that loses one half becomes the other, so that a builder can follow its paper
/// for a larger number of micro-batches than the plan has.
///
/// The chunks of a rank are its stages in ascending order; in a bidirectional plan chunk 0 is its
/// stage for the first micro-batches, chunk 1 that for the reversed ones.
class RankPlan {
 public:
  /// `schedule`, which has its sizes and placement already, must outlive the writer.
  RankPlan(Schedule& schedule, int rank);

  void forward(int chunk = 0);
  void backward(int chunk = 0);
  void backwardInput(int chunk = 0);
  void backwardWeight(int chunk = 0);
  /// Both as one job.
  void forwardBackward(int forwardChunk, int backwardChunk);

 private:
  /// The next micro-batch of each pass, and the one after the last.
  struct Chunk {
    int stage = 0;
    int forward = 0;
    int backward = 0;
    int weight = 0;
    int end = 0;
  };
  Chunk& at(int chunk) { return chunks_[static_cast<std::size_t>(chunk)]; }
  void add(JobKind kind, const Chunk& chunk, int microBatch);

  std::vector<Action>& row_;
  std::vector<Chunk> chunks_;
};

}  // namespace pipetrace
