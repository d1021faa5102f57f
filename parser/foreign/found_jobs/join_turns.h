#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "parser/foreign/found_jobs/find_jobs.h"

namespace pipetrace {

/// Operators that follow each other without a break.
struct HostRun {
  static constexpr std::int32_t kNone = -1;

  std::size_t first = 0;  ///< an index of HostFacts::operators
  std::size_t end = 0;    ///< behind its last one
  bool isBackward = false;
  std::int32_t annotated = HostOperator::kNoJob;
  bool isCutBefore = true;     ///< by a message or the like, and not only by another run
  std::int32_t owner = kNone;  ///< of a backward: the forward, an index of runs
  /// A fused pair stands among the forwards. This is the forward whose backward it has in it.
  std::int32_t pairedWith = kNone;

  bool isPair() const { return pairedWith != kNone; }
};

/// Answers what is known of the runs of a rank's host. The facts must outlive it.
class HostRuns {
 public:
  using Names = std::vector<StringId>;

  /// A run is short beside another one that takes more than this many times as long.
  static constexpr Nanoseconds kShort = 5;

  explicit HostRuns(const HostFacts& facts) : facts_(facts) {}

  const HostOperator& at(std::size_t i) const { return facts_.operators[i]; }

  /// Whether a cut parts two operators.
  bool isCutBetween(std::size_t before, std::size_t after) const {
    const auto next = std::upper_bound(facts_.cuts.begin(), facts_.cuts.end(), at(before).begin);
    return next != facts_.cuts.end() && *next <= at(after).begin;
  }

  Names namesOf(const HostRun& run) const {
    Names names;
    for (std::size_t i = run.first; i < run.end; ++i) names.push_back(at(i).name);
    return names;
  }

  Nanoseconds busyOf(const HostRun& run) const {
    Nanoseconds busy = 0;
    for (std::size_t i = run.first; i < run.end; ++i) busy += at(i).end - at(i).begin;
    return busy;
  }

 private:
  const HostFacts& facts_;
};

/// The runs of a host that works on parts of forwards and parts of backwards in turn.
struct JoinedTurns {
  bool areTold = true;  ///< false: they do not tell which jobs they are, and nothing else is given
  /// Forwards and fused pairs (HostRun::isPair), and runs of neither, by their first operator.
  std::vector<HostRun> forwards;
  std::vector<HostRun> cores;  ///< by forward: from the first to the last operator with a backward
  std::vector<HostRun> calls;  ///< backwards that are in no pair
  /// Backwards without a forward, or with parts of a forward in them whose own backward is missing.
  std::vector<HostRun> unplaced;
};

/// Joins the parts of forwards and of backwards that take turns. Nothing where none do.
///
/// `forwards`: runs of operators that are no backward's, by their first operator. `cores`: from
/// their first to their last operator with a backward; empty where there are none. `calls`: of
/// autograd, by their first operator, with their forwards. findJobs() says what tells jobs apart.
/// O(n log n).
std::optional<JoinedTurns> joinTurns(const HostRuns& runs, const std::vector<HostRun>& forwards,
                                     const std::vector<HostRun>& cores,
                                     const std::vector<HostRun>& calls);

}  // namespace pipetrace
