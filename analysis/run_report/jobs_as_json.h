#pragma once

#include <nlohmann/json.hpp>

#include "analysis/bubbles/bubbles.h"
#include "analysis/explain/culprits.h"

namespace pipetrace {

/// Jobs and messages of a run as members of its report.
class JobsAsJson {
 public:
  using Json = nlohmann::ordered_json;

  /// Both must outlive it.
  JobsAsJson(const Timeline& timeline, const JobGraph& graph)
      : timeline_(timeline), graph_(graph) {}

  Json job(JobGraph::Id id) const;
  /// With the rank that it comes from.
  Json message(JobGraph::Id id) const;
  /// The culprit of a bubble, or of a group of them, which must have one. kBlocked has the end
  /// of a message.
  Json culprit(const Bubble& bubble) const;
  Json culprit(const CulpritGroup& group) const;

 private:
  const Timeline& timeline_;
  const JobGraph& graph_;
};

}  // namespace pipetrace
