#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "schedule/waits/wait_network.h"

namespace pipetrace {

/// Times of one scenario, or of several that are run at once.
inline void takeLater(Nanoseconds& time, Nanoseconds other) { time = std::max(time, other); }
inline void addTime(Nanoseconds& time, Nanoseconds more) { time += more; }
template <std::size_t kWidth>
void takeLater(std::array<double, kWidth>& times, const std::array<double, kWidth>& others) {
  for (std::size_t i = 0; i < kWidth; ++i) times[i] = std::max(times[i], others[i]);
}
template <std::size_t kWidth>
void addTime(std::array<double, kWidth>& times, const std::array<double, kWidth>& more) {
  for (std::size_t i = 0; i < kWidth; ++i) times[i] += more[i];
}

/// Runs a network: each operation begins when the last that it waits for is over. `Time` is
/// Nanoseconds, which are exact, or an array of doubles, of as many scenarios. For one thread. The
/// network must outlive it, and be ordered.
template <typename Time>
class WaitTimes {
 public:
  using Index = WaitNetwork::Index;

  explicit WaitTimes(const WaitNetwork& network) : network_(&network), ends_(network.size()) {}

  /// When a given operation ends. It stays from run to run.
  void give(Index operation, const Time& end) { ends_[operation] = end; }

  /// `durationOf(operation)` is how long it takes. `lagOf(wait)` is the lag of a wait that has one.
  /// `releaseOf(operation)`: it does not begin before. `launchOf(operation)`: it begins as much
  /// later than it could.
  template <typename DurationOf, typename LagOf, typename ReleaseOf, typename LaunchOf>
  void run(const DurationOf& durationOf, const LagOf& lagOf, const ReleaseOf& releaseOf,
           const LaunchOf& launchOf) {
    const WaitNetwork& network = *network_;
    for (const WaitNetwork::Group& group : network.groups()) {
      const auto members = network.members(group);
      Time begin = startOf(members.front(), lagOf, releaseOf, launchOf);
      for (std::size_t i = 1; i < members.size(); ++i) {
        takeLater(begin, startOf(members[i], lagOf, releaseOf, launchOf));
      }
      for (const Index member : members) {
        Time end = begin;
        addTime(end, durationOf(member));
        ends_[member] = end;
      }
    }
  }

  /// When an operation ended in the last run.
  const Time& end(Index operation) const { return ends_[operation]; }

 private:
  template <typename LagOf, typename ReleaseOf, typename LaunchOf>
  Time startOf(Index operation, const LagOf& lagOf, const ReleaseOf& releaseOf,
               const LaunchOf& launchOf) const {
    Time start = releaseOf(operation);
    for (const WaitNetwork::Wait& wait : network_->waits(operation)) {
      if (wait.lag == WaitNetwork::kNone) {
        if (wait.source != WaitNetwork::kNone) takeLater(start, ends_[wait.source]);
        continue;
      }
      Time end = wait.source == WaitNetwork::kNone ? Time{} : ends_[wait.source];
      addTime(end, lagOf(wait));
      takeLater(start, end);
    }
    addTime(start, launchOf(operation));
    return start;
  }

  const WaitNetwork* network_;
  std::vector<Time> ends_;  // by operation
};

}  // namespace pipetrace
