#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/run/graph/median_durations.h"
#include "analysis/run/graph/step_jobs.h"
#include "analysis/run/waits/run_work.h"
#include "schedule/waits/wait_times.h"

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

/// The operations of a step or of several of a run, and what each of them waits for, as a network.
/// RunTimes runs it. This is the one way to ask how a run would have gone. Operations and waits are
/// one of two:
///
/// - The edges of the straggler study (docs/metrics.md, "Stragglers") have all jobs, messages and
///   collectives of all ranks, in one step or in several that follow each other.
/// - The edges of the plan (docs/metrics.md, "Bubbles and their causes") have the compute jobs of
///   one pipeline in one step. Each follows the job before it on its rank, and the jobs of other
///   ranks whose data it needs. Messages are free.
///
/// Waits that contradict each other are left out: of operations that wait for each other, the one
/// that really began first goes on.
class RunNetwork {
 public:
  using Index = WaitNetwork::Index;
  using Wait = WaitNetwork::Wait;
  static constexpr Index kNone = WaitNetwork::kNone;

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

  /// A job in which ranks meet is several operations where launches are kept: up to each point
  /// where it starts a collective, or waits for one. The job's own is the first of them. The
  /// collectives are operations, too, one for each member, which begin together.
  struct Piece {
    Index operation = kNone;
    Index job = kNone;       ///< the job's own operation
    Nanoseconds begin = 0;   ///< in the run
    Nanoseconds length = 0;  ///< own and launch-bound time
    /// The collective that it ends at; kNone: another rank's may hold it up later.
    InsideJobs::Id meeting = InsideJobs::kNone;
  };
  struct Meeting {
    Index operation = kNone;
    InsideJobs::Id meeting = InsideJobs::kNone;
    Nanoseconds length = 0;  ///< since the last member began
  };

  /// An operation of the study, without its launch.
  static Operation operationOf(const RunWork& runWork, RunWork::Id id);

  /// The edges of the study, for the steps [first, end) of `runWork`, which follow each other on
  /// each rank. Where launches are kept, and no step begins anywhere before the one before it has
  /// ended everywhere, as behind a sum over all ranks, steps wait for that. Jobs and collectives
  /// are numbered step after step, those of one step as RunWork::indexInStep() does. Where launches
  /// are kept or messages are in line, messages are operations too, after all others; else they are
  /// part of what their receivers wait for.
  ///
  /// An operation that begins late by these edges may have waited for something else, which must
  /// not become its launch. So where launches are kept, a late message also waits for the last job
  /// of its sender and its receiver that had ended. If it began as its sender posted it, it waits
  /// for none of its receiver; and for none of its sender, if most of the time by which that sends
  /// late comes after such jobs, so that it is late whatever they do. In runs of the study nothing
  /// says who posted last. Their programs wait for their messages, so a late job waits for the last
  /// message of its rank that had ended.
  RunNetwork(const JobGraph& graph, const RunWork& runWork, std::size_t first, std::size_t end,
             const RerunRules& rules = {});

  /// The edges of the plan. `step`: an index of `jobs`. The jobs are numbered as in
  /// jobs.jobs(step).
  RunNetwork(const JobGraph& graph, const StepJobs& jobs, const MedianDurations& times,
             std::size_t step);

  const std::vector<Operation>& operations() const { return operations_; }
  /// Jobs, collectives and messages are the operations up to this one; pieces of jobs and what
  /// ranks meet in come after them.
  std::size_t wholeCount() const { return wholeCount_; }
  /// Of all jobs in which ranks meet.
  const std::vector<Piece>& pieces() const { return pieces_; }
  const std::vector<Meeting>& meetings() const { return meetings_; }
  /// The operation with which a job, or anything else, ends.
  Index lastOf(Index work) const {
    const auto found = lastPieces_.find(work);
    return found == lastPieces_.end() ? work : found->second;
  }
  /// The lag of a wait is one of these.
  const std::vector<Operation>& messages() const { return messages_; }
  const WaitNetwork& waits() const { return network_; }
  std::span<const Wait> waits(Index work) const { return network_.waits(work); }
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
  void addStepEnds(const RunWork& runWork);
  void addData(const JobGraph& graph, const RunWork& runWork, RunWork::Id job, Index own,
               RunWork::Id sameDirection);
  void addWaitsOfMessages(const JobGraph& graph, const RunWork& runWork, bool areInLine);
  void addWaitsForLaunches(const JobGraph& graph, const RunWork& runWork, bool areInLine);
  void cutJobs(const JobGraph& graph, const RunWork& runWork);
  Index addInside(const RunWork& runWork, RunWork::Id id, Nanoseconds begin);
  void addWaitsOfPieces();
  void groupOperations(const RunWork& runWork);
  void findCoupled(const JobGraph& graph);
  void findLaunches(const RunWork& runWork);
  Index indexOf(const RunWork& runWork, RunWork::Id work) const;
  void wait(const RunWork& runWork, Index work, const Wait& wait);

  std::vector<Operation> operations_;
  std::vector<Operation> messages_;
  std::size_t wholeCount_ = 0;
  std::vector<Piece> pieces_;
  std::vector<Meeting> meetings_;
  std::unordered_map<Index, Index> lastPieces_;  // by job, where it has several
  WaitNetwork network_;
  std::vector<char> isCoupled_;
  std::vector<Index> lastJobs_;
  Nanoseconds origin_ = 0;

  // Only while it is made.
  std::size_t firstStep_ = 0;
  std::vector<Index> firstOfStep_;  // by step − firstStep_, and the end of the last
  bool messagesAreOperations_ = false;
  std::vector<Index> messageIndex_;  // then: by id − graph.jobCount()
  std::vector<Index> messageGates_;  // by id − graph.jobCount()
  std::vector<Index> stepEnds_;      // of all ranks, by step − firstStep_; empty: steps overlap
  /// Of pieces, delays and meetings, in the order of their numbers.
  struct InsideWait {
    Index operation = kNone;
    Index source = kNone;
  };
  std::vector<InsideWait> insideWaits_;
  std::unordered_map<Index, Nanoseconds> lengths_;      // of jobs in pieces, without waiting
  std::vector<Nanoseconds> insideBegins_;               // by operation − wholeCount_
  std::vector<std::pair<Index, Index>> together_;       // meetings that begin together
  std::vector<std::pair<Index, Index>> afterMeetings_;  // what waits for a meeting, and that
  std::unordered_map<Index, Nanoseconds> meetingEnds_;  // of these, in the run
  std::vector<Nanoseconds> ready_;  // where launches are kept, by work: the end of the last that it
                                    // waits for
};

/// Runs the operations of a network of a run, kWidth times at once. Each begins when the last that
/// it waits for has ended. Where launches are kept, it begins as much later as its launch says.
/// Times are in ns from 0. They are exact for whole nanoseconds. For one thread; the network must
/// outlive it.
template <std::size_t kWidth>
class RunTimes {
 public:
  using Row = std::array<double, kWidth>;
  using Index = RunNetwork::Index;

  explicit RunTimes(const RunNetwork& network) : network_(network), times_(network.waits()) {}

  /// `durationsOf(work)` and `launchesOf(work)` are the Rows of a RunNetwork::Operation.
  /// `releaseOf(work)`: no work begins before that, its launch apart.
  template <typename DurationsOf, typename LaunchesOf, typename ReleaseOf>
  void run(const DurationsOf& durationsOf, const LaunchesOf& launchesOf,
           const ReleaseOf& releaseOf) {
    const auto& operations = network_.operations();
    times_.run(
        [&](Index work) { return durationsOf(operations[work]); },
        [&](const RunNetwork::Wait& wait) { return durationsOf(network_.messages()[wait.lag]); },
        [&](Index work) {
          Row row;
          row.fill(releaseOf(operations[work]));
          return row;
        },
        [&](Index work) { return launchesOf(operations[work]); });
  }

  /// The same at once after the last input, and not before 0.
  template <typename DurationsOf>
  void run(const DurationsOf& durationsOf) {
    run(
        durationsOf, [](const RunNetwork::Operation&) { return Row{}; },
        [](const RunNetwork::Operation&) { return 0.0; });
  }

  /// When an operation ended in the last run().
  const Row& end(Index work) const { return times_.end(work); }
  /// When the last job of all ranks did.
  Row length() const {
    Row length{};
    for (const Index work : network_.lastJobs()) takeLater(length, end(work));
    return length;
  }

 private:
  const RunNetwork& network_;
  WaitTimes<Row> times_;
};

}  // namespace pipetrace
