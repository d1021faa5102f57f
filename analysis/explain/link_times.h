#pragma once

#include <map>
#include <optional>
#include <utility>

#include "analysis/graph/job_graph.h"
#include "analysis/steps/counted_steps.h"

namespace pipetrace {

/// How long the messages of each link are, in the median over the steps that count. A link is a
/// pair of ranks by their numbers, the lower one first.
class LinkTimes {
 public:
  using Link = std::pair<int, int>;
  /// A link whose messages take that many times as long as those of the others is slow.
  static constexpr double kSlow = 1.2;

  explicit LinkTimes(const JobGraph& graph, const CountedSteps& counted = {});

  bool empty() const { return medians_.empty(); }
  /// 0 where no message of the link is logged.
  Nanoseconds of(Link link) const;
  /// The median of the other links' medians; of an even count the lower of the middle two, so that
  /// it is that of a link. Empty: there are no other links.
  std::optional<Nanoseconds> ofOthers(Link link) const;
  /// The links on which messages in one direction are received before they are sent, and by how
  /// much. Their lengths are those of no message.
  const std::map<Link, Nanoseconds>& early() const { return early_; }
  bool isEarly(Link link) const { return early_.contains(link); }

 private:
  std::map<Link, Nanoseconds> medians_;
  std::map<Link, Nanoseconds> early_;
};

}  // namespace pipetrace
