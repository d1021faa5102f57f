#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pipetrace::test_device {

/// The operations that are known to be completed: of each actor (a stream or a host thread) all up
/// to an epoch. Epoch 0 comes before an actor's first operation.
class VectorClock {
 public:
  std::uint64_t at(int actor) const {
    const auto index = static_cast<std::size_t>(actor);
    return index < epochs_.size() ? epochs_[index] : 0;
  }
  bool knows(int actor, std::uint64_t epoch) const { return at(actor) >= epoch; }

  /// Begins the actor's next epoch, and returns it.
  std::uint64_t tick(int actor) {
    join(actor, at(actor) + 1);
    return at(actor);
  }
  void join(int actor, std::uint64_t epoch) {
    const auto index = static_cast<std::size_t>(actor);
    if (index >= epochs_.size()) epochs_.resize(index + 1);
    epochs_[index] = std::max(epochs_[index], epoch);
  }
  void join(const VectorClock& other) {
    if (epochs_.size() < other.epochs_.size()) epochs_.resize(other.epochs_.size());
    for (std::size_t i = 0; i < other.epochs_.size(); ++i) {
      epochs_[i] = std::max(epochs_[i], other.epochs_[i]);
    }
  }

 private:
  std::vector<std::uint64_t> epochs_;
};

}  // namespace pipetrace::test_device
