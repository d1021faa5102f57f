#include "runtime/gradient_sums.h"

#include <utility>

namespace pipetrace {

void GradientSums::beginStep(int step) {
  if (work_.hasSums()) messages_.compareRows(step, work_.rows());
}

void GradientSums::addUp(int step) {
  addUpCopies(step);
  addUpTies(step);
}

void GradientSums::addUpCopies(int step) {
  if (!work_.hasSums()) return;
  for (std::size_t i = 0; i < program_.copies.size(); ++i) {
    const int stage = program_.copies[i].stage;
    work_.addSums(stage, messages_.exchange(i, step, work_.sumsOf(stage)));
  }
}

void GradientSums::addUpTies(int step) {
  for (const RankProgram::TiedSum& own : program_.tiedSends) {
    messages_.sendSum(own.sum, step, work_.tiedSumOf(own.tie, own.use));
  }
  for (const RankProgram::TiedSum& other : program_.tiedReceives) {
    work_.takeTiedSum(other.tie, other.use, messages_.receiveSum(other.sum, step));
  }
  work_.addTiedSums();
}

}  // namespace pipetrace
