#include "analysis/slowdown/what_ifs.h"

#include <algorithm>

namespace pipetrace {
namespace {

constexpr std::size_t kWidth = WhatIfs::kMost;
constexpr std::size_t kAllMeasured = 0;
constexpr std::size_t kAllIdeal = 1;

using Index = RunNetwork::Index;

/// 1 for each bit that is set.
constexpr auto kBits = [] {
  std::array<std::array<double, kWidth>, 256> bits{};
  for (std::size_t mask = 0; mask < bits.size(); ++mask) {
    for (std::size_t i = 0; i < kWidth; ++i) bits[mask][i] = (mask >> i & 1U) != 0 ? 1 : 0;
  }
  return bits;
}();

}  // namespace

WhatIfTimes::Lengths WhatIfTimes::run(const WhatIfs& whatIfs) {
  const auto durationsOf = [&](const RunNetwork::Operation& work) {
    const auto& bits = kBits[whatIfs.measuredIn(work)];
    const double more = work.measured - work.ideal;
    Times::Row row;
    for (std::size_t i = 0; i < kWidth; ++i) row[i] = work.ideal + bits[i] * more;
    return row;
  };
  times_.run(durationsOf);
  return times_.length();
}

std::vector<double> WhatIfTimes::lengthsByReplica(std::span<const std::uint32_t> replicaOf,
                                                  std::size_t replicas) const {
  std::vector<double> lengths;
  for (std::size_t first = 0; first < replicas; first += kReplicasAtOnce) {
    const auto some = lengthsOfReplicas(replicaOf, first,
                                        std::min<std::size_t>(kReplicasAtOnce, replicas - first));
    lengths.insert(lengths.end(), some.begin(), some.end());
  }
  return lengths;
}

std::vector<double> WhatIfTimes::lengthsOfReplicas(std::span<const std::uint32_t> replicaOf,
                                                   std::size_t first, std::size_t count) const {
  std::vector<std::uint32_t> rowOf(order_.operations().size());
  std::uint32_t rows = 0;
  for (Index work = 0; work < rowOf.size(); ++work) {
    if (order_.isCoupled(work)) rowOf[work] = rows++;
  }
  std::vector<double> ends(rows * count);  // of coupled operations, by replica
  const auto placeOf = [&](const RunNetwork::Operation& work) {
    return static_cast<std::size_t>(replicaOf[work.rank]) - first;  // count and more: none
  };
  const auto takeEnd = [&](Index work, std::span<double> row) {
    if (order_.isCoupled(work)) {
      const double* const other = ends.data() + rowOf[work] * count;
      for (std::size_t d = 0; d < count; ++d) row[d] = std::max(row[d], other[d]);
      return;
    }
    const std::size_t own = placeOf(order_.operations()[work]);
    const double measured = own < count ? std::max(row[own], times_.end(work)[kAllMeasured]) : 0;
    for (double& value : row) value = std::max(value, times_.end(work)[kAllIdeal]);
    if (own < count) row[own] = measured;
  };
  const auto addDuration = [&](const RunNetwork::Operation& work, std::span<double> row) {
    const std::size_t own = placeOf(work);
    const double measured = own < count ? row[own] + work.measured : 0;
    for (double& value : row) value += work.ideal;
    if (own < count) row[own] = measured;
  };
  std::vector<double> begin(count);
  std::vector<double> message(count);
  const auto takeWait = [&](const RunNetwork::Wait& wait) {
    if (wait.lag == RunNetwork::kNone) {
      if (wait.source != RunNetwork::kNone) takeEnd(wait.source, begin);
      return;
    }
    std::fill(message.begin(), message.end(), 0.0);
    if (wait.source != RunNetwork::kNone) takeEnd(wait.source, message);
    addDuration(order_.messages()[wait.lag], message);
    for (std::size_t d = 0; d < count; ++d) begin[d] = std::max(begin[d], message[d]);
  };
  for (const WaitNetwork::Group& group : order_.waits().groups()) {
    const auto members = order_.waits().members(group);
    if (!order_.isCoupled(members.front())) continue;
    std::fill(begin.begin(), begin.end(), 0.0);
    for (const Index work : members) {
      for (const RunNetwork::Wait& wait : order_.waits(work)) takeWait(wait);
    }
    for (const Index work : members) {
      const std::span<double> row(ends.data() + rowOf[work] * count, count);
      std::copy(begin.begin(), begin.end(), row.begin());
      addDuration(order_.operations()[work], row);
    }
  }
  std::vector<double> lengths(count);
  for (const Index work : order_.lastJobs()) takeEnd(work, lengths);
  return lengths;
}

}  // namespace pipetrace
