#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "analysis/explain/causes.h"

namespace pipetrace {

/// The words of a finding. Both are sentences without a full stop.
struct FindingText {
  std::string text;
  std::string advice;  ///< what to look at next
};

/// The sentences of findings with a culprit.
class FindingTexts {
 public:
  /// All must outlive it. `idle`: of all ranks, in the steps that count.
  FindingTexts(const Timeline& timeline, const JobGraph& graph, const UsualTimes& times,
               const SlowerStages& stages, const SlowerRanks& ranks, const LinkTimes& links,
               const UnevenMicroBatches& lengths, const ScatteredPauses& pauses,
               const CountedSteps& counted, Nanoseconds idle);

  FindingText of(const IdleCause& cause) const;

 private:
  FindingText slowStages(const IdleCause& cause) const;
  FindingText slowStagesOfRanks(const IdleCause& cause, const std::vector<std::int32_t>& slow,
                                const std::set<int>& ranks) const;
  FindingText slowRank(const IdleCause& cause) const;
  FindingText slowReplica(const IdleCause& cause) const;
  FindingText longJob(const IdleCause& cause) const;
  FindingText longJobs(const IdleCause& cause) const;
  FindingText unevenMicroBatches(const IdleCause& cause) const;
  FindingText scatteredPauses(const IdleCause& cause) const;
  FindingText data(const IdleCause& cause) const;
  FindingText lateJobs(const IdleCause& cause) const;
  FindingText link(const IdleCause& cause) const;
  FindingText longMessages(const IdleCause& cause) const;

  std::string cost(const IdleCause& cause) const;
  std::string shares(const IdleCause& cause) const;
  std::string jobOf(const CulpritGroup& group) const;
  std::string inStep(const CulpritGroup& group) const;
  JobGraph::Id longest(const CulpritGroup& group) const;
  bool isOnlyStep() const;

  const Timeline& timeline_;
  const JobGraph& graph_;
  const UsualTimes& times_;
  const SlowerStages& stages_;
  const SlowerRanks& ranks_;
  const LinkTimes& links_;
  const UnevenMicroBatches& lengths_;
  const ScatteredPauses& pauses_;
  const CountedSteps& counted_;
  Nanoseconds idle_;
};

/// "messages between ranks 0 and 1".
std::string betweenRanks(LinkTimes::Link link);

}  // namespace pipetrace
