#pragma once

#include <cstddef>
#include <vector>

#include "parser/foreign/kineto/categories.h"

namespace pipetrace {

/// Annotations of single stages' jobs (`PP:1F3`) inside a schedule's own (`Forward 3`, `PP:1F3`).
/// Not thread-safe.
class NestedJobs {
 public:
  /// All must outlive it.
  NestedJobs(const KinetoWords& words, ForeignNames& names, const Timeline& timeline)
      : words_(words), names_(names), timeline_(timeline) {}

  /// Whether the annotation is a job of a single stage by its name.
  bool isStageJob(const Event& annotation) const;

  /// Whether events[named[n]] is a schedule's own and has such annotations inside, which then are
  /// the jobs. `named`: the named events of a thread, in order.
  bool areInside(const std::vector<Event>& events, const std::vector<std::size_t>& named,
                 std::size_t n) const;

  /// Whether events[index] is a schedule's mark of a collective (`PP:1UNSHARD`) in which nothing is
  /// sent: torch writes it for stages without sharded weights as well. `events`: of a thread, in
  /// order.
  bool isEmptyCollective(const std::vector<Event>& events, std::size_t index) const;

  /// Gives the job the name and kind of the annotation around it, if both are of one stage and
  /// micro-batch: the schedule knows whether a backward is a half.
  void takeNameOf(const Event& around, Event& job);

 private:
  const KinetoWords& words_;
  ForeignNames& names_;
  const Timeline& timeline_;
};

}  // namespace pipetrace
