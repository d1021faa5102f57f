#include "analysis/slowdown/what_if_times.h"

#include <algorithm>

namespace pipetrace {
namespace {

constexpr std::size_t kWidth = WhatIfs::kMost;
constexpr std::size_t kAllMeasured = 0;
constexpr std::size_t kAllIdeal = 1;

using Index = StepOrder::Index;

/// 1 for each bit that is set.
constexpr auto kBits = [] {
  std::array<std::array<double, kWidth>, 256> bits{};
  for (std::size_t mask = 0; mask < bits.size(); ++mask) {
    for (std::size_t i = 0; i < kWidth; ++i) bits[mask][i] = (mask >> i & 1U) != 0 ? 1 : 0;
  }
  return bits;
}();

void takeLater(std::array<double, kWidth>& row, const std::array<double, kWidth>& other) {
  for (std::size_t i = 0; i < kWidth; ++i) row[i] = std::max(row[i], other[i]);
}

}  // namespace

WhatIfTimes::Row WhatIfTimes::durations(const StepOrder::Work& work, std::uint8_t measured) {
  const auto& bits = kBits[measured];
  const double more = work.measured - work.ideal;
  Row row;
  for (std::size_t i = 0; i < kWidth; ++i) row[i] = work.ideal + bits[i] * more;
  return row;
}

WhatIfTimes::Row WhatIfTimes::startOf(Index work, const WhatIfs& whatIfs, double release) const {
  Row start;
  start.fill(release);
  for (const StepOrder::Wait& wait : order_.waits(work)) {
    if (wait.message == StepOrder::kNone) {
      if (wait.source != StepOrder::kNone) takeLater(start, ends_[wait.source]);
      continue;
    }
    const StepOrder::Work& message = order_.messages()[wait.message];
    Row end{};
    if (wait.source != StepOrder::kNone) takeLater(end, ends_[wait.source]);
    if (wait.gate != StepOrder::kNone) takeLater(end, ends_[wait.gate]);
    const Row duration = durations(message, whatIfs.measuredIn(message));
    for (std::size_t i = 0; i < kWidth; ++i) end[i] += duration[i];
    takeLater(start, end);
  }
  return start;
}

WhatIfTimes::Lengths WhatIfTimes::run(const WhatIfs& whatIfs, std::span<const double> releases) {
  const auto releaseOf = [&](const StepOrder::Work& work) {
    return releases.empty() ? 0.0 : releases[work.rank];
  };
  ends_.resize(order_.works().size());
  for (const StepOrder::Group& group : order_.groups()) {
    const auto members = order_.members(group);
    Row begin{};
    for (const Index work : members) {
      takeLater(begin, startOf(work, whatIfs, releaseOf(order_.works()[work])));
    }
    for (const Index work : members) {
      const StepOrder::Work& each = order_.works()[work];
      const Row duration = durations(each, whatIfs.measuredIn(each));
      for (std::size_t i = 0; i < kWidth; ++i) ends_[work][i] = begin[i] + duration[i];
    }
  }
  Lengths lengths{};
  for (const Index work : order_.lastJobs()) takeLater(lengths, ends_[work]);
  return lengths;
}

std::vector<double> WhatIfTimes::lengthsByReplica(std::span<const std::uint32_t> replicaOf,
                                                std::size_t replicas) const {
  std::vector<std::uint32_t> rowOf(order_.works().size());
  std::uint32_t rows = 0;
  for (Index work = 0; work < rowOf.size(); ++work) {
    if (order_.isCoupled(work)) rowOf[work] = rows++;
  }
  std::vector<double> ends(rows * replicas);  // of coupled works, by replica
  const auto takeEnd = [&](Index work, std::span<double> row) {
    if (order_.isCoupled(work)) {
      const double* const other = ends.data() + rowOf[work] * replicas;
      for (std::size_t d = 0; d < replicas; ++d) row[d] = std::max(row[d], other[d]);
      return;
    }
    const std::uint32_t own = replicaOf[order_.works()[work].rank];
    const double before = row[own];
    for (double& value : row) value = std::max(value, ends_[work][kAllIdeal]);
    row[own] = std::max(before, ends_[work][kAllMeasured]);
  };
  const auto addDuration = [&](const StepOrder::Work& work, std::span<double> row) {
    const std::uint32_t own = replicaOf[work.rank];
    const double measured = row[own] + work.measured;
    for (double& value : row) value += work.ideal;
    row[own] = measured;
  };
  std::vector<double> begin(replicas);
  std::vector<double> message(replicas);
  for (const StepOrder::Group& group : order_.groups()) {
    if (!group.isCoupled) continue;
    std::fill(begin.begin(), begin.end(), 0.0);
    for (const Index work : order_.members(group)) {
      for (const StepOrder::Wait& wait : order_.waits(work)) {
        if (wait.message == StepOrder::kNone) {
          if (wait.source != StepOrder::kNone) takeEnd(wait.source, begin);
          continue;
        }
        std::fill(message.begin(), message.end(), 0.0);
        if (wait.source != StepOrder::kNone) takeEnd(wait.source, message);
        if (wait.gate != StepOrder::kNone) takeEnd(wait.gate, message);
        addDuration(order_.messages()[wait.message], message);
        for (std::size_t d = 0; d < replicas; ++d) begin[d] = std::max(begin[d], message[d]);
      }
    }
    for (const Index work : order_.members(group)) {
      const std::span<double> row(ends.data() + rowOf[work] * replicas, replicas);
      std::copy(begin.begin(), begin.end(), row.begin());
      addDuration(order_.works()[work], row);
    }
  }
  std::vector<double> lengths(replicas);
  for (const Index work : order_.lastJobs()) takeEnd(work, lengths);
  return lengths;
}

}  // namespace pipetrace
