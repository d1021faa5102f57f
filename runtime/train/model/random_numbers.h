#pragma once

#include <cstdint>

namespace pipetrace {

/// Where in training a block runs. Its random numbers depend on this alone, so that they are the
/// same under every schedule, partition and transport, and when the block runs again.
struct RandomPlace {
  std::uint64_t seed = 0;
  int step = 0;
  int microBatch = 0;
  int block = 0;
};

/// While it lives, at::dropout() and at::feature_dropout() on this thread draw from a generator of
/// the place, on the tensors' device. So does everything that is made of them: torch::nn::Dropout,
/// Dropout2d and so on, and the dropout of scaled_dot_product_attention, which on devices then runs
/// as single operators. Other random functions draw from LibTorch's default generator as ever,
/// which all threads share.
///
/// Threads: one; one place at a time.
class RandomNumbersAt {
 public:
  explicit RandomNumbersAt(const RandomPlace& place);
  ~RandomNumbersAt();
  RandomNumbersAt(const RandomNumbersAt&) = delete;
  RandomNumbersAt& operator=(const RandomNumbersAt&) = delete;
};

/// The seed of a block's initial weights.
std::uint64_t weightSeed(std::uint64_t seed, int block);

}  // namespace pipetrace
