#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parser/foreign/kineto/categories.h"
#include "parser/foreign/kineto/host/host_span.h"
#include "trace/event.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// The time in which a thread did nothing but wait for a collective.
struct CollectiveWait {
  HostSpan span;  ///< empty: it was over before the thread waited for it
  std::size_t collective = 0;
};

/// The collectives of a trace without a device, which threads of the process group run (Gloo).
///
/// A thread posts one by an operator (`c10d::allreduce_`). A thread of the group runs it, and
/// annotates that (`gloo:all_reduce`). A run belongs to the first operator before it that posts
/// such a collective and has no run yet. A reduce-scatter runs as all-reduces.
///
/// A thread that waits shows nothing: none of its operators and annotations begins or ends. It
/// waited for a collective that ended in such a silence, up to that end, where
/// - it was silent in an operator that waits (`wait_tensor`), or
/// - in an operator that posted the collective, or right after such an operator, and went on soon,
/// - or in no operator that began after the collective was posted, and went on at once.
/// In any other operator it computed. Of several that ended in one silence the last one counts.
///
/// Where no annotation shows the run, the thread waited as long as `wait_tensor` lasts, else as
/// long as it is silent after it posted the collective.
class HostCollectives {
 public:
  /// All must outlive it. `threads`: the host's, in the order of their numbers, each with its
  /// events in order.
  HostCollectives(std::span<ForeignTrace::Lane* const> threads, const KinetoWords& words,
                  Timeline& timeline, const KinetoInfo& info);

  /// The waits of a thread by begin, and the collectives that it posted and did not wait for, at
  /// the times of their ends. No two overlap. `jobs`: annotations that are no longer among its
  /// events.
  std::vector<CollectiveWait> waitsOf(std::uint32_t thread, std::span<const HostSpan> jobs) const;

  /// The wait as an event of no job, with the arguments of trace/event_arguments.h. A trace that
  /// does not name the ranks of a collective may leave one group only that it can be of: it is not
  /// the pipeline's, and neither one rank nor the whole run.
  Event eventOf(const CollectiveWait& wait) const;

 private:
  struct Collective {
    static constexpr std::uint32_t kNoThread = UINT32_MAX;

    JobKind kind = JobKind::kOther;
    StringId name = 0;
    std::uint32_t thread = kNoThread;  ///< that posted it; kNoThread: not known
    HostSpan post;                     ///< the operator that did; without one where its run began
    HostSpan run;
    bool hasRun = false;
    bool hasTensor = false;  ///< `wait_tensor` waits for it
    std::string group;       ///< its ranks
    std::optional<std::int64_t> sequence;
    std::int64_t bytes = 0;
  };
  struct Run;
  struct Posts;
  class Silences;

  void readThread(std::uint32_t thread, const std::vector<Event>& events, Posts& posts,
                  std::vector<Run>& runs) const;
  void readCall(const Event& call, Collective& collective) const;
  void join(Posts& posts, std::vector<Run>& runs);
  void addWaitsWithoutRun(std::uint32_t thread, const Silences& silences,
                          std::vector<CollectiveWait>& waits) const;

  std::span<ForeignTrace::Lane* const> threads_;
  const KinetoWords& words_;
  Timeline& timeline_;
  const KinetoInfo& info_;
  std::string onlyGroup_;                // the group of collectives that name none
  std::vector<Collective> collectives_;  // by when their posts began
};

}  // namespace pipetrace
