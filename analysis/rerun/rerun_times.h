#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "analysis/rerun/rerun_order.h"

namespace pipetrace {

/// Runs the operations of an order, kWidth times at once. Each begins when the last that it waits
/// for has ended. Where launches are kept, it begins as much later as its launch says. Times are in
/// ns from 0. They are exact for whole nanoseconds. For one thread; the order must outlive it.
template <std::size_t kWidth>
class RerunTimes {
 public:
  using Row = std::array<double, kWidth>;
  using Index = RerunOrder::Index;

  explicit RerunTimes(const RerunOrder& order) : order_(order) {}

  /// `durationsOf(work)` and `launchesOf(work)` are the Rows of a RerunOrder::Operation.
  /// `releaseOf(work)`: no work begins before that, its launch apart.
  template <typename DurationsOf, typename LaunchesOf, typename ReleaseOf>
  void run(const DurationsOf& durationsOf, const LaunchesOf& launchesOf,
           const ReleaseOf& releaseOf) {
    ends_.resize(order_.operations().size());
    for (const RerunOrder::Group& group : order_.groups()) {
      const auto members = order_.members(group);
      Row begin;
      begin.fill(std::numeric_limits<double>::lowest());
      for (const Index work : members) {
        const RerunOrder::Operation& each = order_.operations()[work];
        Row start = startOf(work, durationsOf, releaseOf(each));
        add(start, launchesOf(each));
        takeLater(begin, start);
      }
      for (const Index work : members) {
        ends_[work] = begin;
        add(ends_[work], durationsOf(order_.operations()[work]));
      }
    }
  }

  /// The same at once after the last input, and not before 0.
  template <typename DurationsOf>
  void run(const DurationsOf& durationsOf) {
    run(
        durationsOf, [](const RerunOrder::Operation&) { return Row{}; },
        [](const RerunOrder::Operation&) { return 0.0; });
  }

  /// When an operation ended in the last run().
  const Row& end(Index work) const { return ends_[work]; }
  /// When the last job of all ranks did.
  Row length() const {
    Row length{};
    for (const Index work : order_.lastJobs()) takeLater(length, ends_[work]);
    return length;
  }

  static void takeLater(Row& row, const Row& other) {
    for (std::size_t i = 0; i < kWidth; ++i) row[i] = std::max(row[i], other[i]);
  }
  static void add(Row& row, const Row& more) {
    for (std::size_t i = 0; i < kWidth; ++i) row[i] += more[i];
  }

 private:
  template <typename DurationsOf>
  Row startOf(Index work, const DurationsOf& durationsOf, double release) const {
    Row start;
    start.fill(release);
    for (const RerunOrder::Wait& wait : order_.waits(work)) {
      if (wait.message == RerunOrder::kNone) {
        if (wait.source != RerunOrder::kNone) takeLater(start, ends_[wait.source]);
        continue;
      }
      Row end{};
      if (wait.source != RerunOrder::kNone) takeLater(end, ends_[wait.source]);
      if (wait.gate != RerunOrder::kNone) takeLater(end, ends_[wait.gate]);
      add(end, durationsOf(order_.messages()[wait.message]));
      takeLater(start, end);
    }
    return start;
  }

  const RerunOrder& order_;
  std::vector<Row> ends_;  // by work
};

}  // namespace pipetrace
