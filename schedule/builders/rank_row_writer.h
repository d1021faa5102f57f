#pragma once

#include <cstddef>
#include <vector>

#include "schedule/plan.h"

namespace pipetrace {

/// Writes one rank's row of a plan: each call appends that pass of the chunk's next micro-batch, in
/// the order of their numbers. A pass of a micro-batch that does not exist is left out, and a fused
/// pair that loses one half becomes the other half. So a builder can follow its paper for more
/// micro-batches than there are.
///
/// The chunks of a rank are its stages in ascending order. In a bidirectional plan those for the
/// first micro-batches come first, then those for the reversed ones.
class RankRowWriter {
 public:
  /// `plan`, which has its sizes and placement already, must outlive the writer. `planned` is the
  /// number of micro-batches per chunk that the builder goes through: then the first ones are left
  /// out. Without it the last ones are left out.
  RankRowWriter(Plan& plan, int rank, int planned = 0);

  void forward(int chunk = 0);
  void backward(int chunk = 0);
  void backwardInput(int chunk = 0);
  void backwardWeight(int chunk = 0);
  /// Both as one job.
  void forwardBackward(int forwardChunk, int backwardChunk);

 private:
  struct Chunk {
    int stage = 0;
    // The micro-batches that exist.
    int first = 0;
    int end = 0;
    // The next one of each pass.
    int forward = 0;
    int backward = 0;
    int weight = 0;

    bool has(int microBatch) const { return first <= microBatch && microBatch < end; }
  };
  Chunk& at(int chunk) { return chunks_[static_cast<std::size_t>(chunk)]; }
  void add(JobKind kind, const Chunk& chunk, int microBatch);

  std::vector<Action>& row_;
  std::vector<Chunk> chunks_;
};

}  // namespace pipetrace
