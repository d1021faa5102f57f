#include "analysis/causes/slowdown_what_ifs.h"

#include <algorithm>
#include <utility>

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

template <typename Visit>
void visitSources(const RunNetwork& network, RunNetwork::Index work, const Visit& visit) {
  for (const RunNetwork::Wait& wait : network.waits(work)) {
    if (wait.source != RunNetwork::kNone) visit(wait.source);
  }
}

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
  std::vector<std::uint32_t> rowOf(network_.operations().size());
  std::uint32_t rows = 0;
  for (Index work = 0; work < rowOf.size(); ++work) {
    if (network_.isCoupled(work)) rowOf[work] = rows++;
  }
  std::vector<double> ends(rows * count);  // of coupled operations, by replica
  const auto placeOf = [&](const RunNetwork::Operation& work) {
    return static_cast<std::size_t>(replicaOf[work.rank]) - first;  // count and more: none
  };
  const auto takeEnd = [&](Index work, std::span<double> row) {
    if (network_.isCoupled(work)) {
      const double* const other = ends.data() + rowOf[work] * count;
      for (std::size_t d = 0; d < count; ++d) row[d] = std::max(row[d], other[d]);
      return;
    }
    const std::size_t own = placeOf(network_.operations()[work]);
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
    addDuration(network_.messages()[wait.lag], message);
    for (std::size_t d = 0; d < count; ++d) begin[d] = std::max(begin[d], message[d]);
  };
  for (const WaitNetwork::Group& group : network_.waits().groups()) {
    const auto members = network_.waits().members(group);
    if (!network_.isCoupled(members.front())) continue;
    std::fill(begin.begin(), begin.end(), 0.0);
    for (const Index work : members) {
      for (const RunNetwork::Wait& wait : network_.waits(work)) takeWait(wait);
    }
    for (const Index work : members) {
      const std::span<double> row(ends.data() + rowOf[work] * count, count);
      std::copy(begin.begin(), begin.end(), row.begin());
      addDuration(network_.operations()[work], row);
    }
  }
  std::vector<double> lengths(count);
  for (const Index work : network_.lastJobs()) takeEnd(work, lengths);
  return lengths;
}

/// When operations ideally end, and the places that they have as long as others wait for them.
class SetTimes::Places {
 public:
  explicit Places(const RunNetwork& network)
      : network_(network),
        ends_(network.operations().size()),
        places_(ends_.size()),
        users_(ends_.size()) {
    for (Index work = 0; work < users_.size(); ++work) {
      visitSources(network, work, [&](Index source) { ++users_[source]; });
    }
  }

  double endOf(Index work) const { return work == kNone ? 0 : ends_[work]; }
  Index placeOf(Index work) const { return work == kNone ? kStart : places_[work]; }
  std::size_t count() const { return count_; }

  Index take(Index work, double end) {
    ends_[work] = end;
    if (free_.empty()) free_.push_back(count_++);
    places_[work] = free_.back();
    free_.pop_back();
    return places_[work];
  }
  /// After all operations of its group have their places: what it waits for is read while it is
  /// written.
  void letGo(Index work) {
    visitSources(network_, work, [&](Index source) {
      if (--users_[source] == 0) free_.push_back(places_[source]);
    });
    if (users_[work] == 0) free_.push_back(places_[work]);
  }

 private:
  const RunNetwork& network_;
  std::vector<double> ends_;   // by operation
  std::vector<Index> places_;  // by operation
  std::vector<Index> users_;   // how many that have not begun wait for it
  std::vector<Index> free_;
  Index count_ = 1;
};

SetTimes::SetTimes(const RunNetwork& network, std::size_t sets, const SetOf& setOf) : sets_(sets) {
  messages_.reserve(network.messages().size());
  for (const RunNetwork::Operation& each : network.messages()) {
    messages_.push_back({setOf(each), static_cast<float>(each.measured - each.ideal)});
  }
  members_.reserve(network.operations().size());
  inputs_.reserve(4 * network.operations().size());
  groups_.reserve(network.waits().groups().size() + 1);
  Places places(network);
  for (const WaitNetwork::Group& group : network.waits().groups())
    addGroup(network, group, setOf, places);
  groups_.push_back({static_cast<Index>(inputs_.size()), static_cast<Index>(members_.size())});
  for (const Index work : network.lastJobs()) ideal_ = std::max(ideal_, places.endOf(work));
  std::vector<char> isLast(network.operations().size());
  for (const Index work : network.lastJobs()) isLast[work] = 1;
  std::size_t member = 0;
  for (const WaitNetwork::Group& group : network.waits().groups()) {
    for (const Index work : network.waits().members(group)) {
      members_[member].isLast = isLast[work] != 0;
      members_[member++].slack = static_cast<float>(ideal_ - places.endOf(work));
    }
  }
  delays_.resize(places.count());
  isLate_.resize(places.count());
}

void SetTimes::addGroup(const RunNetwork& network, const WaitNetwork::Group& group,
                        const SetOf& setOf, Places& places) {
  const auto firstInput = static_cast<Index>(inputs_.size());
  groups_.push_back({firstInput, static_cast<Index>(members_.size())});
  std::vector<double>& ends = endsOfInputs_;
  ends.clear();
  const auto add = [&](Index source, Index message) {
    inputs_.push_back({places.placeOf(source), message});
    ends.push_back(places.endOf(source) +
                   (message == kNone ? 0 : network.messages()[message].ideal));
  };
  add(kNone, kNone);
  for (const Index work : network.waits().members(group)) {
    for (const RunNetwork::Wait& wait : network.waits(work)) {
      if (wait.source != kNone || wait.lag != kNone) add(wait.source, wait.lag);
    }
  }
  const double begin = *std::max_element(ends.begin(), ends.end());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    inputs_[firstInput + i].slack = static_cast<float>(begin - ends[i]);
  }
  for (const Index work : network.waits().members(group)) {
    const RunNetwork::Operation& each = network.operations()[work];
    members_.push_back({{setOf(each), static_cast<float>(each.measured - each.ideal)},
                        places.take(work, begin + each.ideal)});
  }
  for (const Index work : network.waits().members(group)) places.letGo(work);
}

std::vector<double> SetTimes::lengths() {
  std::vector<double> lengths;
  for (first_ = 0; first_ < sets_; first_ += kAtOnce) {
    run();
    const std::size_t count = std::min(kAtOnce, sets_ - first_);
    for (std::size_t i = 0; i < count; ++i) lengths.push_back(ideal_ + longer_.at(i));
  }
  return lengths;
}

void SetTimes::run() {
  for (std::size_t i = 0; i < kAtOnce; ++i) longer_.set(i, static_cast<float>(-ideal_));
  for (std::size_t g = 0; g + 1 < groups_.size(); ++g) {
    const Group& group = groups_[g];
    const Group& next = groups_[g + 1];
    runGroup(group, next);
    for (Index m = group.member; m < next.member; ++m) {
      if (members_[m].isLast) takeLength(members_[m]);
    }
  }
}

void SetTimes::runGroup(const Group& group, const Group& next) {
  late_.clear();
  bool isOwn = false;  // a message of the pass
  float least = -inputs_[group.input].slack;
  for (Index i = group.input; i < next.input; ++i) {
    const Input& input = inputs_[i];
    if (isLate_[input.place] != 0) {
      late_.push_back({&delays_[input.place], input.slack});
    } else {
      least = std::max(least, -input.slack);
    }
    isOwn = isOwn || (input.message != kNone && isInPass(messages_[input.message].set));
  }
  const bool areAllLate = !late_.empty() || isOwn;
  for (Index m = group.member; m < next.member; ++m) {
    const Member& member = members_[m];
    isLate_[member.place] = areAllLate || isInPass(member.duration.set) ? 1 : 0;
    if (!areAllLate && isLate_[member.place] != 0) delays_[member.place] = {};
  }
  if (areAllLate) runAll(group, next, least);
  for (Index i = group.input; isOwn && i < next.input; ++i) {
    if (inputs_[i].message == kNone) continue;
    const std::size_t set = messages_[inputs_[i].message].set;
    if (isInPass(set)) runOne(group, next, set);
  }
  for (Index m = group.member; m < next.member; ++m) {
    if (isInPass(members_[m].duration.set)) runOne(group, next, members_[m].duration.set);
  }
}

/// Runs a group in all what-ifs of the pass as if all of it were ideal. It waits for `late_`.
/// `least`: how late it begins at least, for what else it waits for.
void SetTimes::runAll(const Group& group, const Group& next, float least) {
  constexpr std::size_t kFours = 8;  // which stay in registers
  constexpr std::make_index_sequence<kFours> kEach;
  const auto inEach = []<std::size_t... i>(std::index_sequence<i...>, const auto& visit) {
    (visit(i), ...);
  };
  const std::size_t end = (std::min(kAtOnce, sets_ - first_) + 3) / 4;
  for (std::size_t part = 0; part < end; part += kFours) {
    Four begin[kFours];
    inEach(kEach, [&](std::size_t i) { begin[i] = Four{} + least; });
    for (const Late& input : late_) {
      const Four* const delays = input.row->delays + part;
      const float slack = input.slack;
      inEach(kEach, [&](std::size_t i) {
        const Four delay = delays[i] - slack;
        begin[i] = begin[i] < delay ? delay : begin[i];
      });
    }
    for (Index m = group.member; m < next.member; ++m) {
      Four* const delays = delays_[members_[m].place].delays + part;
      inEach(kEach, [&](std::size_t i) { delays[i] = begin[i]; });
    }
  }
}

/// Runs it in the what-if of a set that is in the pass.
void SetTimes::runOne(const Group& group, const Group& next, std::size_t set) {
  const std::size_t at = set - first_;
  const auto moreOf = [&](const Duration& duration) {
    return duration.set == set ? duration.more : 0;
  };
  float begin = -inputs_[group.input].slack;
  for (Index i = group.input; i < next.input; ++i) {
    const Input& input = inputs_[i];
    const float late = isLate_[input.place] != 0 ? delays_[input.place].at(at) : 0;
    const float more = input.message == kNone ? 0 : moreOf(messages_[input.message]);
    begin = std::max(begin, late + more - input.slack);
  }
  for (Index m = group.member; m < next.member; ++m) {
    if (isLate_[members_[m].place] == 0) continue;
    delays_[members_[m].place].set(at, begin + moreOf(members_[m].duration));
  }
}

void SetTimes::takeLength(const Member& member) {
  for (std::size_t i = 0; i < kAtOnce / 4; ++i) {
    const Four late = isLate_[member.place] != 0 ? delays_[member.place].delays[i] : Four{};
    const Four longer = late - member.slack;
    longer_.delays[i] = longer_.delays[i] < longer ? longer : longer_.delays[i];
  }
}

}  // namespace pipetrace
