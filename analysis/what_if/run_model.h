#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run/bubbles/run_basis.h"
#include "analysis/run/run.h"
#include "analysis/run/steps/counted_steps.h"
#include "analysis/what_if/run_again.h"
#include "analysis/what_if/run_blocks.h"
#include "schedule/comm_streams.h"
#include "schedule/costs.h"
#include "schedule/plan.h"
#include "schedule/scale/scale_option.h"

namespace pipetrace {

/// The pipeline whose compute jobs end last, by the median of the steps that count. All others wait
/// for it. There must be one.
const PipelineBasis& slowestPipeline(const RunBasis& basis, const CountedSteps& counted);

/// The time from the last compute job of a step of that pipeline to the end of the step, in the
/// median of whole steps that count. It has collectives and optimizers.
Nanoseconds tailOf(const JobGraph& graph, const PipelineBasis& pipeline,
                   const CountedSteps& counted);

/// The replica of a run that all others wait for.
struct SlowestReplica {
  int replica = 0;         ///< its data-parallel index
  int replicas = 1;        ///< of the run
  std::vector<int> ranks;  ///< ascending
  Nanoseconds tail = 0;    ///< tailOf()
};

/// Changes of the plan that a run follows.
struct PlanChanges {
  std::string schedule;     ///< empty: the run's own
  int chunks = 0;           ///< virtual stages per rank; 0: what the run or the schedule has
  int microBatches = 0;     ///< 0: as many as the run has
  bool keepsBatch = false;  ///< micro-batches become smaller or larger instead of more or fewer
  /// With keepsBatch: messages scale, whatever is known of their sizes.
  bool scalesMessages = false;
  /// The parts of a backward that is split: its input half and its weight half.
  std::optional<std::pair<int, int>> split;
  std::optional<CommStreams> lines;  ///< not given: those of the run
  /// With how many forwards each stage warms up (--stage-depths); empty: as usual. For schedules
  /// that buildOnStageRanks() has, with one stage a rank.
  std::vector<int> depths;
  /// --transfers: "in-time" or "torch"; empty: the run's own order, of a changed plan torch's.
  std::string transfers;
  /// Other stages (--partition), as many as the plan has; for a model with blocks.
  std::optional<BlockPartition> partition;
  /// For the schedule `auto`: the most activations that a rank may hold, in whole shares of the
  /// run's ranks; 0: any.
  double activationLimit = 0;

  bool empty() const { return !changesJobs() && !lines && transfers.empty() && !partition; }
  /// Whether it makes another plan of the jobs.
  bool changesJobs() const {
    return !schedule.empty() || chunks > 0 || microBatches > 0 || !depths.empty();
  }
};

/// A step of a run as a simulation (schedule/simulate) with the run's medians. These are the times
/// of its jobs by stage and kind, those of messages by link, and by how much jobs begin after their
/// last input. It is of the pipeline whose compute jobs end last, by the median of the steps that
/// count. The others wait for that one.
///
/// After a step's last compute job comes what came there in the median step: collectives and
/// optimizers, as one `optimizer`.
///
/// A rank that is slower than its peers (SlowerRanks) stays so under another plan. Its stages then
/// have the times of the peers, and whatever stages it gets take as many times as long. That needs
/// peers, and stages of its own. Else stages that take longer are taken to have more work.
class RunModel {
 public:
  /// A simulated run of several steps. Its ranks are numbered by their positions.
  struct SimulatedRun {
    Timeline timeline;
    Plan order;        ///< of its compute jobs, with recomputes
    std::string plan;  ///< its name; empty: an order that no schedule is known to have
    /// The most activations that each rank holds at once, in whole shares: what a micro-batch of
    /// the run takes on all stages of a rank together. Where a table knows the memory of blocks, it
    /// is the mean of the ranks.
    std::vector<double> peaks;
    int microBatches = 0;
    int messages = 0;  ///< between ranks, in a step
    /// The samples of a step, as a multiple of those of the run.
    double batch = 1;
    /// Sentences without a full stop about what this run takes for granted, beside assumptions().
    std::vector<std::string> assumptions;
  };

  /// `again` and `counted` must be of the run. `blocks`: of its model; null: not known, so stages
  /// are cut evenly. Throws Error for blocks that do not fit the run.
  RunModel(const Run& run, const RunAgain& again, const CountedSteps& counted,
           const RunBlocks* blocks = nullptr);

  /// The model of a whole run, by Run::usualSteps(). Throws Error for a run without any work.
  static RunModel of(const Run& run);

  /// Why there is no model, as a sentence without a full stop; empty: there is.
  const std::string& reason() const { return reason_; }
  /// Sentences without a full stop about what it takes for granted.
  const std::vector<std::string>& assumptions() const { return assumptions_; }
  const Plan& plan() const { return plan_; }
  /// The schedule that has the run's order; empty: none is known.
  const std::string& schedule() const { return schedule_; }
  /// The blocks of its model; none: they are not known.
  const std::optional<RunBlocks>& blocks() const { return blocks_; }
  /// The table of its blocks with the times of the run, and its messages' usual time. Needs
  /// blocks().
  BlockTable measuredTable() const;
  /// The bytes of an activation of a whole share by the table of blocks; 0: not known.
  double activationBytes() const { return activationBytes_; }
  /// So many activations of whole shares, in the unit of measuredTable()'s memory.
  std::int64_t memoryOf(double activations) const;
  /// The order of its jobs, without recomputes.
  const Plan& plainPlan() const { return plain_; }
  /// The replica that it is of, where the run has several and steps with ends. It is known though
  /// there may be a reason() against a model.
  const std::optional<SlowestReplica>& slowestReplica() const { return slowest_; }
  /// The factors of ranks that are slower than their peers, by position (kRank).
  const std::vector<ScaleOption>& slowRanks() const { return slowRanks_; }
  /// The times of links whose messages take another time than usual, by position.
  std::vector<Faults::Link> unusualLinks() const;
  /// The median over stages and kinds of the usual launches of their jobs.
  Nanoseconds usualLaunch() const;
  /// Takes from the costs of the run's stages what slowRanks() add. `costs` has as many stages.
  void takeSlownessFrom(Costs& costs) const;
  /// How much the compute jobs of its pipeline vary: the mean of variationByRank().
  double variation() const { return variation_; }
  /// Whether messages take longer in larger micro-batches: their logged sizes are of a megabyte or
  /// more. Else nobody knows, and they stay as they are.
  bool messagesScale() const { return messagesScale_; }
  /// On which lines messages run one after the other.
  CommStreams lines() const { return lines_; }
  /// Virtual stages of a rank; 1 where pipelines run both ways.
  int chunks() const;

  /// Simulates the run with changes. Factors and times of stages and kinds are of the run's own
  /// stages, those of ranks and links of the changed plan. Throws Error, which begins with the
  /// option, for what it cannot change.
  SimulatedRun run(const PlanChanges& changes = {}, const RunChanges& times = {}) const {
    return run(changes, times, kSteps);
  }
  /// The same of as many steps as one of them, in the middle, needs to be as usual: sooner done,
  /// where one step is asked for.
  SimulatedRun fewSteps(const PlanChanges& changes, const RunChanges& times) const {
    return run(changes, times, startsTogether_ ? 1 : kSteps);
  }

 private:
  // Ranks may run ahead into the next step: those in the middle show how that goes on.
  static constexpr int kSteps = 5;
  /// An activation of the run, in units of which up to 16 equal parts are whole numbers.
  static constexpr std::int64_t kActivation = 720'720'000;
  static constexpr double kLimitRounding = 1e-6;  ///< of limits as people type them
  using Launches = std::map<std::pair<int, JobKind>, Nanoseconds>;  // by stage and kind

  SimulatedRun run(const PlanChanges& changes, const RunChanges& times, int steps) const;
  void addBlocks(const RunBlocks& blocks);
  void findPlan(const Run& run, const PipelineBasis& pipeline);
  bool isOfPipeline(int rank) const;
  void findLaunches(const RunAgain& again, const CountedSteps& counted);
  void findVariation(const JobGraph& graph, const CountedSteps& counted);
  void findLinks(const Timeline& timeline, const RunAgain& again, const CountedSteps& counted);
  /// The stages that stand on one rank alone, by its position.
  std::vector<std::vector<int>> ownStages() const;
  void findSlowRanks(const JobGraph& graph, const CountedSteps& counted);
  void findSlowPeers(const JobGraph& graph, const CountedSteps& counted);
  void doubtSlowStage(const Timeline& timeline, const JobGraph& graph, const CountedSteps& counted);
  Plan changedPlan(const PlanChanges& changes, const Costs& costs) const;
  Plan plannedWith(const PlanChanges& changes, Costs& costs) const;
  std::vector<StageCosts> stagesOf(const std::vector<StageCosts>& stages, int count,
                                   const PlanChanges& changes) const;
  void splitBackwards(const PlanChanges& changes, Costs& costs) const;
  bool splitsBackward(const PlanChanges& changes) const;
  void requireEffect(const PlanChanges& changes) const;
  std::vector<std::string> groundsOf(const PlanChanges& changes, const Plan& plan) const;
  std::string scheduleOf(const PlanChanges& changes) const;
  int positionOf(int rank, const std::string& option) const;
  void scaleRunsOwn(const RunChanges& times, Costs& costs) const;
  void scalePlans(const RunChanges& times, const Plan& plan, Costs& costs) const;

  std::string reason_;
  std::vector<std::string> assumptions_;
  Plan plain_;            // the compute jobs without recomputes
  Plan plan_;             // with them
  Plan full_;             // with the messages in the run's order, where it has lines; else empty
  std::string schedule_;  // recognised; empty: none is
  std::vector<int> rankNumbers_;
  std::vector<int> ranksInUse_;  // of the pipeline, ascending; empty: the run has no other
  Costs costs_;
  Launches launches_;
  std::optional<SlowestReplica> slowest_;
  std::vector<ScaleOption> slowRanks_;
  CommStreams lines_ = CommStreams::kAsReached;
  bool startsTogether_ = true;
  std::optional<RunBlocks> blocks_;
  double activationBytes_ = 0;
  bool messagesScale_ = false;
  double variation_ = 0;
};

}  // namespace pipetrace
