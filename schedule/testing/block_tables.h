#pragma once

#include <random>

#include "schedule/partition/block_table.h"

namespace pipetrace::test {

/// A block of one unit of time and memory forward and two backward.
inline BlockCosts blockOf(std::int64_t unit) {
  return {.forward = unit * kNsPerMs,
          .backward = 2 * unit * kNsPerMs,
          .backwardInput = unit * kNsPerMs,
          .backwardWeight = unit * kNsPerMs,
          .activation = 100 * unit,
          .freedByInput = 20 * unit,
          .working = 30 * unit,
          .message = 10,
          .parameters = 40 * unit};
}

/// Blocks that are alike but one, which has four times as much of everything.
inline BlockTable lopsided(int blocks, int large) {
  BlockTable table;
  table.blocks.assign(static_cast<std::size_t>(blocks), blockOf(1));
  table.blocks[static_cast<std::size_t>(large)] = blockOf(4);
  return table;
}

/// Blocks whose costs have nothing to do with each other.
class RandomTables {
 public:
  explicit RandomTables(unsigned seed) : random_(seed) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  BlockTable table(int blocks) {
    BlockTable table;
    for (int i = 0; i < blocks; ++i) {
      BlockCosts block{.forward = between(1, 9) * kNsPerMs,
                       .backwardInput = between(1, 9) * kNsPerMs,
                       .backwardWeight = between(0, 9) * kNsPerMs,
                       .activation = between(50, 400),
                       .working = between(0, 50),
                       .message = between(1, 40),
                       .parameters = between(0, 200)};
      block.backward = block.backwardInput + block.backwardWeight - between(0, 1) * kNsPerMs / 2;
      block.freedByInput = between(-20, 40);
      block.shared = between(0, 40);
      table.blocks.push_back(block);
    }
    table.transfer = between(0, 2) * kNsPerMs / 4;
    return table;
  }

 private:
  std::int64_t between(int least, int most) { return least + below(most - least + 1); }

  std::mt19937 random_;
};

}  // namespace pipetrace::test
