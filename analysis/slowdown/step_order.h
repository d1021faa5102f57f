#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/slowdown/run_work.h"

namespace pipetrace {

/// The jobs and collectives of one step, what each of them waits for, and an order in which they
/// can run. They are numbered as RunWork::indexInStep() does. Messages are part of what their
/// receivers wait for.
class StepOrder {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = ~Index{0};

  struct Work {
    double measured = 0;  ///< ns
    double ideal = 0;
    std::uint32_t rank = 0;  ///< index in graph.ranks()
    std::uint32_t stage = 0;
    std::uint32_t set = 0;  ///< of kinds
  };

  /// Waiting for the end of `source`. With a message: for the message's end; it begins after
  /// `source` and `gate`.
  struct Wait {
    Index source = kNone;
    Index gate = kNone;
    Index message = kNone;  ///< index in messages()
  };

  /// Works that begin together; most groups have one.
  struct Group {
    Index first = 0;  ///< they are [first, end) of the order
    Index end = 0;
    bool isCoupled = false;  ///< another replica may hold it up
  };

  /// Waits that contradict each other are left out. Both are needed here only.
  StepOrder(const JobGraph& graph, const RunWork& runWork, std::size_t step);

  const std::vector<Work>& works() const { return works_; }
  const std::vector<Work>& messages() const { return messages_; }
  std::span<const Wait> waits(Index work) const {
    return std::span(waits_).subspan(firstWait_[work], firstWait_[work + 1] - firstWait_[work]);
  }
  /// In an order in which they can run.
  const std::vector<Group>& groups() const { return groups_; }
  std::span<const Index> members(const Group& group) const {
    return std::span(members_).subspan(group.first, group.end - group.first);
  }
  /// Whether another replica may hold it up.
  bool isCoupled(Index work) const { return isCoupled_[work] != 0; }
  /// The last job of each rank that has one.
  const std::vector<Index>& lastJobs() const { return lastJobs_; }

 private:
  void addWorks(const RunWork& runWork, std::size_t step);
  void addWaits(const JobGraph& graph, const RunWork& runWork, std::size_t step);
  void addData(const JobGraph& graph, const RunWork& runWork, RunWork::Id job,
               RunWork::Id sameDirection);
  void groupWorks(const RunWork& runWork);
  void order(const RunWork& runWork);
  void leaveOutContradictions();
  void findCoupled(const JobGraph& graph);
  template <typename Visit>
  static void visitSources(const Wait& wait, const Visit& visit) {
    if (wait.source != kNone) visit(wait.source);
    if (wait.gate != kNone) visit(wait.gate);
  }

  std::vector<RunWork::Id> ids_;
  std::vector<Work> works_;
  std::vector<Work> messages_;
  std::vector<Wait> waits_;
  std::vector<Index> firstWait_;
  std::vector<Index> groupOf_;  // by work; before order(): in no order
  std::vector<Index> members_;
  std::vector<Group> groups_;
  std::vector<char> isCoupled_;
  std::vector<Index> lastJobs_;
};

}  // namespace pipetrace
