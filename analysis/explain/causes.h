#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/explain/culprits.h"
#include "analysis/explain/link_times.h"
#include "analysis/explain/scattered_pauses.h"
#include "analysis/explain/slower_ranks.h"
#include "analysis/explain/uneven_micro_batches.h"

namespace pipetrace {

/// Idle time that one thing caused, which a finding is about.
struct IdleCause {
  enum class Kind : std::uint8_t {
    kSlowStages,          ///< all ranks of these stages take longer than other stages
    kSlowRank,            ///< a rank takes longer than its peers, or than at another time
    kSlowReplica,         ///< all ranks of a pipeline take longer than their peers in others
    kLongJob,             ///< a job takes longer than its median, in one step or in each
    kLongJobs,            ///< a few jobs take many times as long as theirs
    kUnevenMicroBatches,  ///< jobs take longer as their micro-batches are long
    kScatteredPauses,     ///< ranks pause now and then, at different steps
    kUnsteadyJobs,        ///< many jobs of these ranks do, now and then
    kData,                ///< ranks load data
    kLateJob,             ///< a job begins late, in one step or in each
    kLateJobs,            ///< many jobs of these ranks do
    kSlowLink,            ///< its messages take longer than those of others
    kEarlyLink,           ///< its messages arrive before they are sent
    kLongMessages,        ///< a few messages of a link take many times as long as its others
    kMessages,            ///< messages on links that are alike
    kUnloggedMessages,    ///< waits for data; the run has no messages
    kHeldLines,           ///< messages in front hold lines before they can begin
    kUnknownSender,       ///< messages from a rank that nobody knows
    kOfClass              ///< of a class of which no more is known
  };
  Kind kind = Kind::kMessages;
  CulpritGroup group;  ///< of several the largest, with the time and the longest bubbles of all
  /// The ranks that caused it, of transfers the links, with what each costs; the most expensive
  /// first.
  std::vector<std::pair<int, Nanoseconds>> ranks;
  std::vector<std::pair<LinkTimes::Link, Nanoseconds>> links;
  std::vector<std::int32_t> stages;  ///< of kSlowStages, ascending
  std::size_t pipeline = 0;          ///< of kSlowReplica: its index in JobGraph::pipelines()
};

/// The causes of the groups, the most expensive first. Groups with one cause are one. These are
/// the stages of the same ranks, the ranks of a slow replica, and ranks that all begin their jobs
/// late. So are links that are alike, uneven micro-batches on all ranks, and pauses of all ranks.
std::vector<IdleCause> causesOf(const JobGraph& graph, const Culprits& culprits,
                                const SlowerStages& stages, const SlowerRanks& ranks,
                                const LinkTimes& links, const UnevenMicroBatches& lengths,
                                const ScatteredPauses& pauses);

/// Whether one job has at least four fifths of the group's time, over all steps.
bool isOneJob(const CulpritGroup& group);
/// Whether it has so in one step.
bool isOneStep(const CulpritGroup& group);

}  // namespace pipetrace
