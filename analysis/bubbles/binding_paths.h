#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "analysis/graph/job_graph.h"
#include "analysis/graph/usual_times.h"

namespace pipetrace {

/// The reasons for excess idle time that a path collects, in the order in which they are drawn.
enum class Cause : std::uint8_t { kTransfer, kLaunch, kPeerWait, kImbalance, kUnknown };
inline constexpr std::size_t kCauseCount = 5;

/// The time that jobs and messages on a path cost, by cause.
struct Collected {
  std::array<Nanoseconds, kCauseCount> sums{};
  std::array<Nanoseconds, kCauseCount> largest{};  ///< of one job or message
  /// The job or the message with the largest share. Where messages are not logged, the job that
  /// needs the message stands for it.
  std::array<JobGraph::Id, kCauseCount> culprit{JobGraph::kNone, JobGraph::kNone, JobGraph::kNone,
                                                JobGraph::kNone, JobGraph::kNone};

  void add(Cause cause, Nanoseconds time, JobGraph::Id job);
  void add(const Collected& other);
  Nanoseconds total() const;
};

/// The paths back from each job along what it waited for last (docs/metrics.md, "Bubbles"). The
/// predecessor of a job is the job before it on its rank or its data, the one that ended last; the
/// one on its rank where they ended together. A path ends at an `lr` or `optimizer` job.
///
/// Short paths are walked. Where long ones are common, nodes get a second link: it leads far back,
/// and has the sums of what it jumps over. A path then takes as many steps as the logarithm of its
/// length (Myers, "An applicative random-access stack", 1983). Several threads may use it.
class BindingPaths {
 public:
  using Id = JobGraph::Id;

  /// Both must outlive it. Works on one pipeline (its index), and knows nothing of the others.
  BindingPaths(const JobGraph& graph, const UsualTimes& times, std::size_t pipeline);

  /// The share of the job or message itself.
  Collected of(Id node) const;
  /// The lateness of the job after its last input, without its own length.
  Collected lateness(Id job) const;
  /// The sum of what lies before `node` on its path, up to a job of the rank (index in
  /// graph.ranks()), which is not part of it.
  Collected upTo(Id node, std::uint32_t rank) const;

  /// The node that it waited for; kNone: there is none.
  Id predecessor(Id node) const;

 private:
  struct Entry {
    Id before = JobGraph::kNone;
    Id jump = JobGraph::kNone;
    std::uint32_t depth = 0;
    bool isKnown = false;
    std::uint64_t positions = 0;  // of jobs from this node to before `jump`: bit = position % 64
    Collected skipped;            // by them
  };

  std::size_t indexOf(Id node) const {
    return node < graph_.jobCount() ? node - firstJob_ : jobs_ + (node - firstMessage_);
  }
  const Entry& entry(Id node) const { return entries_[indexOf(node)]; }
  void linkAll() const;
  void link(Id node) const;
  bool ends(Id node) const;
  std::uint64_t bitOf(Id node) const;

  const JobGraph& graph_;
  const UsualTimes& times_;
  Id firstJob_ = 0;
  std::size_t jobs_ = 0;
  Id firstMessage_ = 0;
  std::size_t messages_ = 0;
  mutable std::vector<Entry> entries_;  // empty until linked
  mutable std::once_flag isLinked_;
  mutable std::atomic<std::int64_t> steps_{0};  // walked up to now
};

}  // namespace pipetrace
