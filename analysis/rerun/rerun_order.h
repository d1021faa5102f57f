#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/graph/median_durations.h"
#include "analysis/graph/step_jobs.h"
#include "analysis/rerun/run_work.h"

namespace pipetrace {

/// How steps are run again from what waits for what.
struct RerunRules {
  enum class Messages : std::uint8_t {
    kTimed,   ///< each takes its time, any number at once
    kInLine,  ///< and those of a line of the run (JobGraph::hasLines()) come one after the other
  };

  Messages messages = Messages::kTimed;
  /// Whether everything begins as much later than its last input as it did; else at once.
  bool keepsLaunches = false;
};

/// The operations of a step or of several, what each of them waits for, and an order in which they
/// can run. RerunTimes runs them. This is the one way to ask how a run would have gone. Operations
/// and waits are one of two:
///
/// - The edges of the straggler study (docs/metrics.md, "Stragglers") have all jobs, messages and
///   collectives of all ranks, in one step or in several that follow each other.
/// - The edges of the plan (docs/metrics.md, "Bubbles and their causes") have the compute jobs of
///   one pipeline in one step. Each follows the job before it on its rank, and the jobs of other
///   ranks whose data it needs. Messages are free.
///
/// Waits that contradict each other are left out: of operations that wait for each other, the one
/// that really began first goes on.
class RerunOrder {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = ~Index{0};

  struct Operation {
    double measured = 0;  ///< ns; by the edges of the plan: what jobs of its stage and kind take
    double ideal = 0;     ///< ns; by the edges of the plan: MedianDurations::balanced()
    /// Where launches are kept, its begin − the end of the last that it waited for, ns. It is below
    /// 0 where it began before that. An operation that waits for nothing has its begin − origin().
    double launch = 0;
    RunWork::Id id = RunWork::kNone;
    std::uint32_t rank = 0;   ///< index in graph.ranks()
    std::uint32_t stage = 0;  ///< RunWork::stageOf()
    std::uint32_t set = 0;    ///< of kinds
  };

  /// An operation of the study, without its launch.
  static Operation operationOf(const RunWork& runWork, RunWork::Id id);

  /// Waiting for the end of `source`. With a message: for the message's end; it begins after
  /// `source` and `gate`.
  struct Wait {
    Index source = kNone;
    Index gate = kNone;
    Index message = kNone;  ///< index in messages()
  };

  /// Operations that begin together; most groups have one.
  struct Group {
    Index first = 0;  ///< they are [first, end) of the order
    Index end = 0;
    bool isCoupled = false;  ///< another replica may hold it up
  };

  /// The edges of the study, for the steps [first, end) of `runWork`, which follow each other on
  /// each rank. Jobs and collectives are numbered step after step, those of one step as
  /// RunWork::indexInStep() does. Where launches are kept or messages are in line, messages are
  /// operations too, after all others; else they are part of what their receivers wait for.
  ///
  /// An operation that begins late by these edges may have waited for something else, which must
  /// not become its launch. So where launches are kept, a late message also waits for the last job
  /// of its sender and its receiver that had ended. In runs of the study, whose programs wait for
  /// their messages, a late job waits for the last message of its rank that had ended.
  RerunOrder(const JobGraph& graph, const RunWork& runWork, std::size_t first, std::size_t end,
             const RerunRules& rules = {});

  /// The edges of the plan. `step`: an index of `jobs`. The jobs are numbered as in
  /// jobs.jobs(step).
  RerunOrder(const JobGraph& graph, const StepJobs& jobs, const MedianDurations& times,
             std::size_t step);

  const std::vector<Operation>& operations() const { return operations_; }
  const std::vector<Operation>& messages() const { return messages_; }
  std::span<const Wait> waits(Index work) const {
    return std::span(waits_).subspan(firstWait_[work], firstWait_[work + 1] - firstWait_[work]);
  }
  /// In an order in which they can run.
  const std::vector<Group>& groups() const { return groups_; }
  std::span<const Index> members(const Group& group) const {
    return std::span(members_).subspan(group.first, group.end - group.first);
  }
  /// Whether another replica may hold it up. Not where launches are kept.
  bool isCoupled(Index work) const { return isCoupled_[work] != 0; }
  /// The last job of each rank that has one.
  const std::vector<Index>& lastJobs() const { return lastJobs_; }
  /// When the first work began; operations are run from 0 on.
  Nanoseconds origin() const { return origin_; }

 private:
  void addOperations(const RunWork& runWork, std::size_t step);
  void addMessages(const JobGraph& graph, const RunWork& runWork);
  void addWaits(const JobGraph& graph, const RunWork& runWork);
  void addWaitsOfStep(const JobGraph& graph, const RunWork& runWork, std::size_t step,
                      std::vector<Index>& latest);
  void addData(const JobGraph& graph, const RunWork& runWork, RunWork::Id job,
               RunWork::Id sameDirection);
  void addWaitsOfMessages(const JobGraph& graph, const RunWork& runWork, bool areInLine);
  void addWaitsForLaunches(const JobGraph& graph, const RunWork& runWork, bool areInLine);
  void groupOperations(const RunWork& runWork);
  template <typename BeginOf>
  void order(const BeginOf& beginOf);
  void leaveOutContradictions();
  void findCoupled(const JobGraph& graph);
  void findLaunches(const RunWork& runWork);
  Index indexOf(const RunWork& runWork, RunWork::Id work) const;
  template <typename Visit>
  static void visitSources(const Wait& wait, const Visit& visit) {
    if (wait.source != kNone) visit(wait.source);
    if (wait.gate != kNone) visit(wait.gate);
  }

  std::vector<Operation> operations_;
  std::vector<Operation> messages_;
  std::vector<Wait> waits_;
  std::vector<Index> firstWait_;
  std::vector<Index> groupOf_;  // by work; before order(): in no order
  std::vector<Index> members_;
  std::vector<Group> groups_;
  std::vector<char> isCoupled_;
  std::vector<Index> lastJobs_;
  Nanoseconds origin_ = 0;

  // Only while it is made.
  std::size_t firstStep_ = 0;
  std::vector<Index> firstOfStep_;  // by step − firstStep_, and the end of the last
  bool messagesAreOperations_ = false;
  std::vector<Index> messageIndex_;  // then: by id − graph.jobCount()
  std::vector<Index> messageGates_;  // by id − graph.jobCount()
};

}  // namespace pipetrace
