#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/run/graph/inside_jobs.h"
#include "analysis/run/graph/job_graph.h"
#include "analysis/run/run.h"
#include "analysis/run/waits/run_network.h"
#include "analysis/run/waits/run_work.h"
#include "analysis/what_if/run_changes.h"
#include "trace/timeline.h"

namespace pipetrace {

/// A run that runs again, as it was or with changes. It runs by the edges of the straggler study,
/// through all steps. Messages are in line where the run has lines, and launches are kept. Pauses
/// between steps are launches of the jobs after them, so they stay.
///
/// All work of other phases, and events of other lanes, move with the jobs of their rank.
class RunAgain {
 public:
  /// Both must outlive it. Means and medians are those of the steps that count.
  RunAgain(const Run& run, const CountedSteps& counted);

  /// The run with these changes; without any it is the run itself, to the nanosecond. It has no
  /// bubbles. Throws Error, which begins with the option, for a change of what the run does not
  /// have.
  Timeline run(const RunChanges& changes = {}) const { return run(changes, true); }

  /// The same, but kernels and collectives inside of jobs move with these in proportion, and not
  /// by themselves: sooner done, where only the steps are asked for.
  Timeline runJobs(const RunChanges& changes = {}) const { return run(changes, false); }

  const RunNetwork& network() const { return network_; }
  const RunWork& work() const { return work_; }
  /// The numbers of the ranks of a message, its sender's first; -1: not known.
  std::pair<int, int> ranksOf(const RunNetwork::Operation& message) const;
  /// The number of the rank of a work: of a message its receiver's.
  int rankOf(const RunNetwork::Operation& work) const { return numberOf(work); }
  /// Whether a work is a message.
  bool isMessage(const RunNetwork::Operation& work) const;
  /// Whether it began after the last of those that it waited for in its own step: what lies
  /// between is its launch. False after a pause, and where that one was a job of another rank
  /// whose message is not logged.
  bool hasLaunch(RunNetwork::Index index) const;
  /// Whether it is a job of which that is so.
  bool isLaunchedJob(RunNetwork::Index index) const;
  struct LateRanks {
    std::vector<int> ranks;  ///< their numbers, ascending; at most half of all
    bool sendLate = false;   ///< some send their messages late
  };
  /// The ranks whose jobs begin far later after their inputs than those of others: their median is
  /// more than kFarLater times the median of all ranks. Or their messages are sent that much later
  /// than others' are, and than jobs begin.
  LateRanks lateRanks() const;
  /// The numbers of ranks that begin the steps of their pipelines later than other pipelines begin
  /// theirs, by more than kLateOpening of a step in the mean of the steps that count. Ascending.
  std::vector<int> lateOpenings() const;
  static constexpr double kLateOpening = 0.01;
  static constexpr double kFarLater = 4;
  /// Whether the last that it waited for was a job of another rank whose message is not logged:
  /// what lies between is the message, as far as anybody knows.
  bool waitsForUnlogged(RunNetwork::Index index) const;

 private:
  Timeline run(const RunChanges& changes, bool withInside) const;
  /// Whether an input is a job of another rank whose message is not logged.
  bool isUnlogged(const RunNetwork::Operation& work, RunNetwork::Index input) const;
  /// Whether it has an input on another rank whose message is not logged. Nobody knows when that
  /// came.
  bool mayWaitForUnlogged(RunNetwork::Index index) const;
  std::vector<double> durationsOf(const RunChanges& changes) const;
  void addInside(const RunChanges& changes, std::vector<double>& durations) const;
  std::unordered_map<InsideJobs::Id, Nanoseconds> computeBesideWeights() const;
  void scaleBetweenJobs(const std::vector<RunChanges::Group>& groups,
                        std::vector<double>& durations) const;
  void evenPeers(const std::vector<std::vector<int>>& groups, std::vector<double>& durations) const;
  void makeIdeal(const IdealSet& set, std::vector<double>& durations) const;
  void balance(std::vector<double>& durations) const;
  void makeSteady(std::vector<double>& durations) const;
  void evenOut(const std::vector<int>& stages, std::vector<double>& durations) const;
  void leaveOutPauses(const std::vector<JobGraph::Id>& jobs, std::vector<double>& durations) const;
  void scale(const ScaleOption& scale, std::vector<double>& durations) const;
  void scaleOptimizers(const RunChanges::Optimizer& of, std::vector<double>& durations) const;
  void setLink(const RunChanges::Link& link, std::vector<double>& durations) const;
  bool isOnLink(const RunNetwork::Operation& work, int rank, int peer) const;
  RunNetwork::Index lastInputOf(RunNetwork::Index index) const;
  void requireRank(int rank, const std::string& option) const;
  std::vector<double> launchesOf(const RunChanges& changes) const;
  /// What a rank begins: a job, or an end of a message that is posted last.
  enum class Begins : std::uint8_t { kJob, kSend, kReceive };
  /// Whether it is a message that began when this end was posted.
  bool isPostedLast(RunNetwork::Index index, Begins begins) const;
  bool isLaunched(RunNetwork::Index index, Begins begins) const;
  std::uint32_t launchedBy(RunNetwork::Index index, Begins begins) const;
  std::vector<double> medianLaunches(Begins begins, bool areKnown = false) const;
  bool isLaunchedAsOthers(RunNetwork::Index index, const std::vector<double>& known) const;
  static constexpr double kAsLateAsOthers = 1.5;
  std::vector<char> makersForOthers() const;
  /// The index of a rank, the kind of a job or message, and whether the job before made data for
  /// another rank.
  using LaunchKey = std::tuple<std::uint32_t, JobKind, bool>;
  LaunchKey launchKeyOf(RunNetwork::Index index, Begins begins,
                        const std::vector<char>& makers) const;
  using Lateness = std::map<LaunchKey, double>;
  Lateness laterThanOthers(const std::vector<int>& ranks, Begins begins,
                           const std::vector<char>& makers) const;
  struct Opening {
    std::int32_t step = 0;
    int rank = 0;                               ///< its number
    std::vector<RunNetwork::Index> operations;  ///< the first compute job, and what leads to it
    double later = 0;                           ///< than in other pipelines, ns; not below 0
  };
  std::vector<Opening> openings(const std::vector<int>& ranks) const;
  int numberOf(const RunNetwork::Operation& work) const { return graph_.ranks()[work.rank].number; }
  JobKind kindOf(const RunNetwork::Operation& work) const { return work_.event(work.id).kind; }
  std::int32_t stageOf(const RunNetwork::Operation& work) const;

  const Run& run_;
  const JobGraph& graph_;
  const CountedSteps& counted_;
  RunWork work_;
  RunNetwork network_;
};

/// The most by which begin or end of an event differ between two forms of one run, bubbles apart.
Nanoseconds largestDifference(const Timeline& one, const Timeline& other);

}  // namespace pipetrace
