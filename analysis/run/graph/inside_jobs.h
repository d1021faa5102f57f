#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trace/nanoseconds.h"
#include "trace/timeline.h"

namespace pipetrace {

class JobGraph;

/// What happens inside the compute jobs of ranks that share stages, or weights: collectives in
/// which they wait for each other (docs/metrics.md, "Inside jobs of several ranks"). Empty for a
/// run whose timeline has no collective with a group (collective_arguments).
///
/// Each instant of a job has one part: *own* while a kernel of its rank computes, of whichever job;
/// else, while collectives of its rank run, it is of the one that ends last: *waiting* before the
/// last member of that had come, *moving* after; else *launch-bound*. A reduction that still runs
/// when the rank computes again holds up nothing, and is not among these. A rank without a device
/// is busy itself but for the collectives that its thread waits for.
///
/// A plain value. Any number of threads may read it.
class InsideJobs {
 public:
  /// Of jobs: as in JobGraph. Of meetings: their index in meetings().
  using Id = std::uint32_t;
  static constexpr Id kNone = ~Id{0};

  /// A collective as one of its members saw it.
  struct Meeting {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    /// From `begin`, before its last member came.
    Nanoseconds waiting = 0;
    /// The part of `waiting`, and of the rest, that is a part of jobs of the rank.
    Nanoseconds waitingInside = 0;
    Nanoseconds movingInside = 0;
    /// What its job did since it began, or since it came to the meeting before: own and
    /// launch-bound time.
    Nanoseconds segment = 0;
    Id job = kNone;           ///< that it holds up: the one that started it, or one after it
    Id last = kNone;          ///< of the member that came last; kNone: it is this one, or not known
    std::uint32_t set = 0;    ///< its members and kind, index in sets()
    std::uint16_t place = 0;  ///< the n-th of the job that started it
    bool lacksLast = false;   ///< the last member is a rank without a trace
    std::uint8_t jobsSince =
        0;  ///< how many jobs `job` comes after the one that started it; 255: or more

    /// By how much sooner its job had gone on, had all members come at once. Of a collective that
    /// runs beside work its last member may have come during that, and jobs wait while it moves.
    Nanoseconds late() const { return std::min(waiting, waitingInside + movingInside); }
  };

  /// Ranks that meet in collectives of one kind and size.
  struct Set {
    std::vector<int> ranks;  ///< numbers, ascending
    /// Those of them that this one waits for, as its neighbours in a ring; empty: all.
    std::vector<int> partners;
    std::uint32_t whole = 0;  ///< the first set of the same ranks, kind and size: partners differ
    JobKind kind = JobKind::kAllReduce;
    std::int64_t bytes = -1;  ///< −1: not known
    GroupAxis axis = GroupAxis::kUnknown;
    /// The median of the collectives of all with the same `whole`, from the last begin on; 0: it is
    /// not known, as of ranks without a device.
    Nanoseconds moving = 0;
  };

  struct Parts {
    Nanoseconds own = 0;
    Nanoseconds waiting = 0;
    Nanoseconds moving = 0;
    Nanoseconds launchBound = 0;

    Nanoseconds total() const { return own + waiting + moving + launchBound; }
  };

  /// What made a job end when it did: back from its end to the last of its waits that it came out
  /// of, from there on at the member that came last, and so on. It leads to the job with which
  /// it all began, mostly on another rank.
  struct Chain {
    /// How much longer the segments of a job on the way were than those of its place usually are,
    /// and how much longer its collectives moved.
    struct Link {
      Id job = kNone;
      Nanoseconds excess = 0;
    };
    Id entry = kNone;         ///< kNone: it leads to a rank without a trace
    std::vector<Link> links;  ///< from the end on
  };

  InsideJobs() = default;
  /// `graph` has its jobs and ranks; `timeline` is its own.
  InsideJobs(const Timeline& timeline, const JobGraph& graph, int threads);

  bool empty() const { return meetings_.empty(); }
  /// By job, each in the order of begins.
  std::span<const Meeting> meetings() const { return meetings_; }
  /// The job that started it; kNone: it is too far back to be known.
  Id starterOf(const Meeting& meeting) const {
    constexpr int kTooFar = 255;
    return meeting.jobsSince == kTooFar ? kNone : meeting.job - meeting.jobsSince;
  }
  /// Those that hold up a job, or that it started: [first, second).
  std::pair<Id, Id> meetingsOf(Id job) const {
    return empty() ? std::pair<Id, Id>{0, 0} : std::pair{firstOf_[job], firstOf_[job + 1]};
  }
  /// The number of a collective, which its members have in common.
  std::uint32_t instanceOf(Id meeting) const { return instanceOf_[meeting]; }
  const std::vector<Set>& sets() const { return sets_; }
  const Set& setOf(const Meeting& meeting) const { return sets_[meeting.set]; }
  /// Of two members of a collective: whether one cannot end before the other has come.
  bool waitsFor(Id one, Id other) const;
  /// Those of a compute job; of a job of another kind, and where it is empty(), none.
  Parts partsOf(Id job) const { return empty() ? Parts{} : parts_[job]; }
  /// How long a job did nothing until a collective ended. That is its part of the job, unless work
  /// goes on before it ends, as beside a gather of weights for the next job. Then this time is that
  /// of another one that ran, or the host's.
  Nanoseconds heldBy(Id meeting) const;
  /// For how long ranks that came late to its collectives held up a job. It waited for as long, or
  /// it waited less and a collective moved when it would have been over.
  Nanoseconds lateIn(Id job) const { return empty() ? 0 : late_[job]; }
  /// From its last meeting to the end of a job: own and launch-bound time.
  Nanoseconds tailOf(Id job) const;
  /// Whether others held up a job inside, so that its chain() leads away from it.
  bool hasChain(Id job) const;
  Chain chain(Id job) const;
  /// Of the collectives of these ranks that have the same members: the longest segment that led to
  /// one over the mean of its members', on average.
  double busiest(const std::vector<int>& ranks) const;
  /// The same for one wait, up to where the ranks had last met: `links` say who made it long.
  /// `entry` is kNone if they had met in the jobs on the way.
  Chain chainOf(const Meeting& wait) const;

 private:
  class Builder;

  Nanoseconds usualSegment(Id meeting) const { return usual_[usualOf_[meeting]]; }
  /// How much longer a collective moved inside jobs than those of its place usually do.
  Nanoseconds movingExcess(Id meeting) const {
    return movingOf(meetings_[meeting]) - usualMoving_[usualOf_[meeting]];
  }
  static Nanoseconds movingOf(const Meeting& meeting) {
    return meeting.movingInside + meeting.waitingInside - meeting.late();
  }
  Nanoseconds usualTail(Id job) const;
  bool hadMet(const Meeting& collective, int rank) const;

  std::vector<Meeting> meetings_;
  std::vector<Id> firstOf_;  // by job, and the end
  std::vector<Set> sets_;
  std::vector<int> ranks_;                 // numbers, by index in JobGraph::ranks()
  std::vector<std::uint32_t> rankOf_;      // by job
  std::vector<std::uint32_t> instanceOf_;  // by meeting: the members of a collective have one
  std::vector<Parts> parts_;               // by job
  std::vector<Nanoseconds> late_;          // by job
  /// Of meetings, ascending: heldBy() − what is a part of jobs, where that is not 0.
  std::vector<std::pair<Id, Nanoseconds>> heldOtherwise_;
  std::vector<std::uint32_t> usualOf_;      // by meeting
  std::vector<std::uint32_t> usualTailOf_;  // by job
  std::vector<Nanoseconds> usualMoving_;
  std::vector<Nanoseconds> usual_;  // the lower median, over ranks, of the medians of a place
};

}  // namespace pipetrace
