#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/run/graph/job_graph.h"
#include "trace/timeline.h"
#include "trace/topology.h"

namespace pipetrace {

/// How much slower a run was than its ideal, in which work of one kind is equally long everywhere,
/// and whose work it was. This is the what-if analysis of Lin et al., "Understanding Stragglers in
/// Large Model Training Using What-if Analysis", 2025 (docs/metrics.md, "Stragglers").
struct Slowdown {
  /// A rank in the heat map of replicas and positions.
  struct Rank {
    int number = 0;
    int replica = 0;   ///< data-parallel index
    int position = 0;  ///< in its pipeline
    /// The lower of two slowdowns: of its replica, and of all ranks at its position.
    double score = 1;
    bool isBound = false;  ///< it is at most that, as for boundStages
  };

  /// Why there are no numbers, as a sentence without a full stop; empty: there are. The other
  /// fields are not set if there are none.
  std::string reason;

  double tSim = 0;                ///< mean length of a step without launch delay, ns
  double tIdeal = 0;              ///< mean length of a step with ideal durations, ns
  double total = 1;               ///< S = tSim / tIdeal
  double launch = 1;              ///< mean measured length over tSim
  std::map<int, double> byStage;  ///< S_X of each stage (virtual stage, where ranks have several)
  /// The stages whose S_X is a bound: it is at most what `byStage` says. Only where there are more
  /// stages than SetTimes::kAtOnce. Then one whose operations deviate from their ideal by less than
  /// SetWhatIfs::kLow of an ideal step in all, Σ |measured − ideal| of a step, has 1 + that share.
  std::vector<int> boundStages;
  std::map<int, double> byReplica;  ///< S_X of each data-parallel index
  /// S_X of each kind: the name that the input gives its events, where they share one, else that of
  /// the job log. A send and its receive count together, as "forward-pp-comm" and
  /// "backward-pp-comm".
  std::map<std::string, double> byKind;
  /// M_X = (tSim − T with X ideal) / (tSim − tIdeal). It need not lie between 0 and 1. Not set
  /// where tSim is tIdeal.
  std::optional<double> mS;     ///< X: the last stage
  std::optional<double> mW;     ///< X: the worst 3 % of the ranks
  std::vector<Rank> ranks;      ///< all, by number
  std::vector<int> worstRanks;  ///< those of mW, the worst first; of equal ones the lower number
  std::vector<std::int32_t> steps;  ///< that the numbers are of, ascending
};

/// Compares a run with its ideal. `timeline` and `topology` are those of the graph.
///
/// `steps`: which to use; those that the run lacks are left out. With none given, all steps are
/// used in which no rank lacks jobs (incomplete_steps.h) and that all ranks have. Uses that many
/// threads, which makes no difference to the result.
Slowdown slowdownOf(const Timeline& timeline, const JobGraph& graph, const Topology& topology,
                    std::span<const std::int32_t> steps = {}, int threads = 1);

}  // namespace pipetrace
