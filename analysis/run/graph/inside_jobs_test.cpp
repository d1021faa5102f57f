#include "analysis/run/graph/inside_jobs.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "analysis/run/graph/median_durations.h"
#include "analysis/testing/meetings_by_hand.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Meeting = InsideJobs::Meeting;
using Parts = InsideJobs::Parts;
using Group = MeetingsByHand::Group;

/// own, waiting, moving, launch-bound.
std::vector<Nanoseconds> listOf(const Parts& parts) {
  return {parts.own, parts.waiting, parts.moving, parts.launchBound};
}

/// The n-th job of a rank.
JobGraph::Id jobOf(const JobGraph& graph, int rank, std::uint32_t n = 0) {
  return graph.ranks()[static_cast<std::size_t>(rank)].first + n;
}

std::vector<Nanoseconds> partsOf(const JobGraph& graph, int rank, std::uint32_t n = 0) {
  return listOf(graph.inside().partsOf(jobOf(graph, rank, n)));
}

/// How long the rank waited in each of its collectives, in the order of begins.
std::vector<Nanoseconds> waitsOf(const JobGraph& graph, int rank) {
  std::vector<Nanoseconds> waits;
  const JobGraph::Rank& of = graph.ranks()[static_cast<std::size_t>(rank)];
  for (JobGraph::Id job = of.first; job < of.end; ++job) {
    const auto [first, end] = graph.inside().meetingsOf(job);
    for (InsideJobs::Id m = first; m < end; ++m) {
      waits.push_back(graph.inside().meetings()[m].waiting);
    }
  }
  return waits;
}

const Meeting& meetingOf(const JobGraph& graph, int rank, std::uint32_t job = 0,
                         std::uint32_t n = 0) {
  return graph.inside().meetings()[graph.inside().meetingsOf(jobOf(graph, rank, job)).first + n];
}

// Parts ------------------------------------------------------------------------------------------

/// Rank 0 computes until 30, and again from 60 to 80 beside the collective, to which rank 1 comes
/// at 50.
MeetingsByHand kernelsBesideACollective() {
  MeetingsByHand made;
  made.job(0, 0, 100);
  made.kernel(0, 0, 30);
  made.kernel(0, 60, 80);
  made.meet(0, 20, 70, {.kind = JobKind::kAllGather});
  made.job(1, 0, 100);
  made.kernel(1, 0, 50);
  made.meet(1, 50, 70, {.kind = JobKind::kAllGather});
  return made;
}

TEST(PartsOfJobs, WhileAKernelComputesTheTimeIsOwnWhateverRunsBesideIt) {
  MeetingsByHand made = kernelsBesideACollective();
  const JobGraph graph = made.graph();
  EXPECT_THAT(partsOf(graph, 0), ElementsAre(30 + 20, 20, 10, 20));
  EXPECT_THAT(partsOf(graph, 1), ElementsAre(50, 0, 20, 30));
}

TEST(PartsOfJobs, KernelsOfNcclComputeNothing) {
  MeetingsByHand made = kernelsBesideACollective();
  made.kernel(1, 50, 70, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
  const JobGraph graph = made.graph();
  EXPECT_THAT(partsOf(graph, 1), ElementsAre(50, 0, 20, 30));
}

TEST(PartsOfJobs, CopiesAmongKernelsAreOwnTime) {
  MeetingsByHand made = kernelsBesideACollective();
  made.add(0, JobKind::kCopy, 90, 95, 0, kNotGiven, "stream 7");
  const JobGraph graph = made.graph();
  EXPECT_THAT(partsOf(graph, 0), ElementsAre(50 + 5, 20, 10, 15));
}

TEST(PartsOfJobs, ARankWithoutKernelsIsBusyItself) {
  MeetingsByHand made;
  made.job(0, 0, 100);
  made.meet(0, 20, 70);
  made.job(1, 0, 100);
  made.meet(1, 50, 70);
  const JobGraph graph = made.graph();
  EXPECT_THAT(partsOf(graph, 0), ElementsAre(50, 30, 20, 0));
  EXPECT_THAT(partsOf(graph, 1), ElementsAre(80, 0, 20, 0));
}

TEST(PartsOfJobs, OfTwoCollectivesAtOnceTheOneThatEndsLastHasTheInstant) {
  MeetingsByHand made(3);
  made.job(0, 0, 100);
  made.meet(0, 10, 60, {.ranks = "0 1", .use = "tensor-parallel"});
  made.meet(0, 20, 90, {.ranks = "0 2", .use = "data-parallel"});
  made.job(1, 0, 100);
  made.meet(1, 50, 60, {.ranks = "0 1", .use = "tensor-parallel"});
  made.job(2, 0, 100);
  made.meet(2, 80, 90, {.ranks = "0 2", .use = "data-parallel"});
  const JobGraph graph = made.graph();
  EXPECT_THAT(waitsOf(graph, 0), ElementsAre(40, 60));
  EXPECT_EQ(meetingOf(graph, 0, 0, 0).waitingInside, 10);
  EXPECT_EQ(meetingOf(graph, 0, 0, 0).movingInside, 0);
  EXPECT_EQ(meetingOf(graph, 0, 0, 1).waitingInside, 60);
  EXPECT_EQ(meetingOf(graph, 0, 0, 1).movingInside, 10);
  EXPECT_THAT(partsOf(graph, 0), ElementsAre(20, 70, 10, 0));
}

TEST(PartsOfJobs, AGatherThatEndsInTheNextJobHoldsUpThat) {
  MeetingsByHand made;
  for (const int rank : {0, 1}) {
    made.job(rank, 0, 40, 0);
    made.meet(rank, rank == 0 ? 10 : 50, 70, {.use = "data-parallel", .kind = JobKind::kAllGather});
    made.kernel(rank, 0, 40);
    made.job(rank, 45, 100, 1);
    made.kernel(rank, 70, 100);
  }
  const JobGraph graph = made.graph();
  EXPECT_EQ(meetingOf(graph, 0, 1).job, jobOf(graph, 0, 1));
  EXPECT_THAT(partsOf(graph, 0, 0), ElementsAre(40, 0, 0, 0));
  EXPECT_THAT(partsOf(graph, 0, 1), ElementsAre(30, 5, 20, 0));
  EXPECT_EQ(meetingOf(graph, 0, 1).waiting, 40) << "most of it beside the job before";
  EXPECT_EQ(meetingOf(graph, 0, 1).waitingInside, 5);
}

TEST(PartsOfJobs, ACollectiveThatEndsBetweenJobsHoldsUpTheOneThatStartedIt) {
  MeetingsByHand made;
  for (const int rank : {0, 1}) {
    made.job(rank, 0, 40, 0);
    made.meet(rank, 30, 60, {.kind = JobKind::kAllGather});
    made.job(rank, 45, 55, 1);
    made.job(rank, 80, 100, 2);
  }
  const JobGraph graph = made.graph();
  EXPECT_EQ(meetingOf(graph, 0).job, jobOf(graph, 0, 0));
  EXPECT_THAT(partsOf(graph, 0, 0), ElementsAre(30, 0, 10, 0));
  EXPECT_THAT(partsOf(graph, 0, 1), ElementsAre(0, 0, 10, 0)) << "it has the instant all the same";
}

/// A sum of gradients of 100 us, from 20 us on, and a kernel that begins at `next`.
std::vector<Nanoseconds> partsWithASum(Nanoseconds next) {
  MeetingsByHand made;
  for (const int rank : {0, 1}) {
    made.job(rank, 0, 200 * kNsPerUs);
    made.kernel(rank, 0, 20 * kNsPerUs);
    made.meet(rank, 20 * kNsPerUs, 120 * kNsPerUs);
    made.kernel(rank, next, 200 * kNsPerUs);
  }
  return partsOf(made.graph(), 0);
}

TEST(PartsOfJobs, AReductionThatStillRunsWhenTheRankComputesAgainHoldsUpNothing) {
  EXPECT_THAT(partsWithASum(60 * kNsPerUs), ElementsAre(160'000, 0, 0, 40'000));
  EXPECT_THAT(partsWithASum(120 * kNsPerUs), ElementsAre(100'000, 0, 100'000, 0));
}

// Traces have times in microseconds with three digits, so that begin and length may be off by one.
TEST(PartsOfJobs, AKernelThatSeemsToBeginANanosecondTooEarlyWaitedForTheReduction) {
  EXPECT_THAT(partsWithASum(120 * kNsPerUs - 1), ElementsAre(100'001, 0, 99'999, 0));
}

TEST(PartsOfJobs, AGroupOfOneRankChangesNothing) {
  MeetingsByHand made = kernelsBesideACollective();
  for (const int rank : {0, 1}) {
    made.meet(rank, 85, 95, {.ranks = rank == 0 ? "0" : "1", .use = "expert-parallel"});
  }
  const JobGraph graph = made.graph();
  EXPECT_THAT(partsOf(graph, 0), ElementsAre(50, 20, 10, 20));
  EXPECT_THAT(waitsOf(graph, 0), ElementsAre(30));
  MeetingsByHand alone;
  alone.job(0, 0, 100);
  alone.meet(0, 10, 60, {.ranks = "0"});
  const JobGraph withoutPeers = alone.graph();
  EXPECT_TRUE(withoutPeers.inside().empty());
  EXPECT_EQ(withoutPeers.lengthOf(jobOf(withoutPeers, 0)), 100);
}

// Against a sweep over instants -------------------------------------------------------------------

/// Random jobs, kernels and collectives of three ranks on one host. All times are whole kUnits.
class RandomMeetings {
 public:
  struct Stretch {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
  };
  struct Collective {
    Stretch when;
    std::size_t group = 0;
    int number = 0;
    JobKind kind = JobKind::kAllGather;
  };

  explicit RandomMeetings(unsigned seed) : random_(seed), made_(kRanks) {
    const bool haveKernels = number(4) > 0;
    for (int rank = 0; rank < kRanks; ++rank) {
      OfRank& of = ranks_.emplace_back();
      Nanoseconds at = number(20);
      for (int n = 0; n < 4; ++n) {
        of.jobs.push_back({at, at + 20 + number(120)});
        at = of.jobs.back().end + (number(2) == 0 ? 0 : number(15));
      }
      const Nanoseconds last = of.jobs.back().end;
      for (int n = haveKernels ? 12 : 0; n > 0; --n) {
        const Nanoseconds begin = number(last);
        of.kernels.push_back({begin, begin + 1 + number(30)});
      }
      std::set<Nanoseconds> ends;  // that of two which end together has the instant is another test
      for (std::size_t group = 0; group < kGroups; ++group) {
        if (!isIn(group, rank)) continue;
        for (int n = 0; n < 5; ++n) {
          if (number(8) == 0) continue;  // it has not recorded this one
          Stretch when{number(last), 0};
          when.end = when.begin + 1 + number(60);
          while (!ends.insert(when.end).second) ++when.end;
          of.collectives.push_back({when, group, n, kKinds[group]});
        }
      }
    }
    write();
  }

  static constexpr int kRanks = 3;
  static constexpr Nanoseconds kUnit = 10 * kNsPerUs;

  JobGraph graph() { return made_.graph(); }

  std::size_t jobCount(int rank) const { return of(rank).jobs.size(); }
  Nanoseconds lengthOf(int rank, std::size_t job) const {
    return kUnit * (of(rank).jobs[job].end - of(rank).jobs[job].begin);
  }

  /// The parts of a job, unit by unit.
  std::vector<Nanoseconds> partsOf(int rank, std::size_t job) const {
    Nanoseconds own = 0;
    Nanoseconds waiting = 0;
    Nanoseconds moving = 0;
    Nanoseconds rest = 0;
    const auto covers = [](const Stretch& s, Nanoseconds t) { return s.begin <= t && t < s.end; };
    for (Nanoseconds t = of(rank).jobs[job].begin; t < of(rank).jobs[job].end; ++t) {
      const bool computes = std::any_of(of(rank).kernels.begin(), of(rank).kernels.end(),
                                        [&](const Stretch& s) { return covers(s, t); });
      const Collective* held = nullptr;
      for (const Collective& each : of(rank).collectives) {
        if (!covers(each.when, t) || (isSum(each) && goesOn(rank, job, t) < each.when.end)) {
          continue;
        }
        if (!held || each.when.end > held->when.end) held = &each;
      }
      if (computes) {
        ++own;
      } else if (held) {
        ++(t < lastBeginOf(*held) ? waiting : moving);
      } else {
        ++rest;
      }
    }
    const bool hasDevice = !of(rank).kernels.empty();
    return {kUnit * (own + (hasDevice ? 0 : rest)), kUnit * waiting, kUnit * moving,
            hasDevice ? kUnit * rest : 0};
  }

 private:
  struct OfRank {
    std::vector<Stretch> jobs;
    std::vector<Stretch> kernels;
    std::vector<Collective> collectives;
  };

  static constexpr std::size_t kGroups = 3;
  static constexpr std::string_view kRanksOf[kGroups] = {"0 1", "0 1 2", "1 2"};
  static constexpr JobKind kKinds[kGroups] = {JobKind::kAllGather, JobKind::kAllReduce,
                                              JobKind::kReduceScatter};

  static bool isSum(const Collective& each) { return each.kind != JobKind::kAllGather; }

  /// When the rank computes again after `t`, in the job; else the job's end.
  Nanoseconds goesOn(int rank, std::size_t job, Nanoseconds t) const {
    Nanoseconds next = of(rank).jobs[job].end;
    for (const Stretch& kernel : of(rank).kernels) {
      if (kernel.begin > t && kernel.begin < kernel.end) next = std::min(next, kernel.begin);
    }
    return next;
  }

  static bool isIn(std::size_t group, int rank) {
    return kRanksOf[group].find(static_cast<char>('0' + rank)) != std::string_view::npos;
  }

  Nanoseconds number(Nanoseconds below) {
    return static_cast<Nanoseconds>(random_() % static_cast<std::uint64_t>(below));
  }

  const OfRank& of(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

  Nanoseconds lastBeginOf(const Collective& collective) const {
    Nanoseconds last = 0;
    for (const OfRank& rank : ranks_) {
      for (const Collective& each : rank.collectives) {
        if (each.group == collective.group && each.number == collective.number) {
          last = std::max(last, each.when.begin);
        }
      }
    }
    return last;
  }

  void write() {
    for (int rank = 0; rank < kRanks; ++rank) {
      std::vector<std::int64_t> ids;
      for (std::size_t n = 0; n < of(rank).jobs.size(); ++n) {
        const Stretch& job = of(rank).jobs[n];
        ids.push_back(made_.job(rank, kUnit * job.begin, kUnit * job.end, static_cast<int>(n)).job);
      }
      for (const Stretch& kernel : of(rank).kernels) {
        made_.kernel(rank, kUnit * kernel.begin, kUnit * kernel.end);
      }
      for (const Collective& each : of(rank).collectives) {
        std::size_t starter = 0;  // the last job that had begun
        while (starter + 1 < ids.size() && of(rank).jobs[starter + 1].begin <= each.when.begin) {
          ++starter;
        }
        made_.meet(rank, kUnit * each.when.begin, kUnit * each.when.end,
                   {.ranks = kRanksOf[each.group], .sequence = each.number, .kind = each.kind},
                   ids[starter]);
      }
    }
  }

  std::mt19937_64 random_;
  std::vector<OfRank> ranks_;
  MeetingsByHand made_;
};

TEST(PartsOfJobs, OfRandomRunsTheyAreThoseOfASweepOverEachInstant) {
  Nanoseconds all[4] = {};
  for (unsigned seed = 1; seed <= 200; ++seed) {
    RandomMeetings run(seed);
    const JobGraph graph = run.graph();
    for (int rank = 0; rank < RandomMeetings::kRanks; ++rank) {
      for (std::size_t job = 0; job < run.jobCount(rank); ++job) {
        SCOPED_TRACE(testing::Message() << "seed " << seed << " rank " << rank << " job " << job);
        const auto id = jobOf(graph, rank, static_cast<std::uint32_t>(job));
        const std::vector<Nanoseconds> parts = listOf(graph.inside().partsOf(id));
        ASSERT_EQ(parts, run.partsOf(rank, job));
        ASSERT_EQ(graph.inside().partsOf(id).total(), run.lengthOf(rank, job));
        for (std::size_t i = 0; i < 4; ++i) all[i] += parts[i];
      }
    }
    std::map<JobGraph::Id, Nanoseconds> inside;
    Nanoseconds waiting = 0;
    Nanoseconds moving = 0;
    for (const Meeting& each : graph.inside().meetings()) {
      waiting += each.waitingInside;
      moving += each.movingInside;
    }
    for (JobGraph::Id id = 0; id < graph.jobCount(); ++id) {
      waiting -= graph.inside().partsOf(id).waiting;
      moving -= graph.inside().partsOf(id).moving;
    }
    EXPECT_EQ(waiting, 0) << "seed " << seed << ": collectives have what jobs have";
    EXPECT_EQ(moving, 0) << "seed " << seed;
  }
  for (const Nanoseconds part : all)
    EXPECT_GT(part, 5000 * RandomMeetings::kUnit) << "the runs have enough of each part";
}

// Who came last ----------------------------------------------------------------------------------

/// Rank 0 comes at 10, rank 1 at 30. It leaves later, at 45 instead of 40.
MeetingsByHand onOtherEnds(JobKind kind = JobKind::kAllReduce) {
  MeetingsByHand made;
  made.job(0, 0, 100);
  made.meet(0, 10, 40, {.kind = kind});
  made.job(1, 0, 100);
  made.meet(1, 30, 45, {.kind = kind});
  return made;
}

TEST(WaitsInside, OnOneHostTheyLastUntilTheLastBegins) {
  MeetingsByHand made = onOtherEnds();
  const JobGraph graph = made.graph();
  EXPECT_THAT(waitsOf(graph, 0), ElementsAre(20));
  EXPECT_THAT(waitsOf(graph, 1), ElementsAre(0));
  const Meeting& wait = meetingOf(graph, 0);
  ASSERT_NE(wait.last, InsideJobs::kNone);
  EXPECT_EQ(graph.inside().meetings()[wait.last].job, jobOf(graph, 1));
  EXPECT_EQ(meetingOf(graph, 1).last, InsideJobs::kNone);
}

TEST(WaitsInside, WhereClocksDifferTheyAreWhatACollectiveIsLongerThanTheShortest) {
  for (const char* const host : {"", "other"}) {
    for (const Nanoseconds ahead : {-3 * kNsPerMs, 3 * kNsPerMs}) {
      MeetingsByHand made = onOtherEnds();
      made.timeline.ranks[0].host = *host == '\0' ? "" : "host";
      made.timeline.ranks[1].host = host;
      made.shift(1, ahead);
      const JobGraph graph = made.graph();
      EXPECT_THAT(waitsOf(graph, 0), ElementsAre(30 - 15)) << "host '" << host << "'";
      EXPECT_THAT(waitsOf(graph, 1), ElementsAre(0));
      ASSERT_NE(meetingOf(graph, 0).last, InsideJobs::kNone);
      EXPECT_EQ(graph.inside().meetings()[meetingOf(graph, 0).last].job, jobOf(graph, 1));
    }
  }
}

// Members of an all-to-all do not end together, so lengths say less than clocks that are right.
TEST(WaitsInside, InAnAllToAllOfTwoHostsClocksThatAgreeSayThem) {
  MeetingsByHand made = onOtherEnds(JobKind::kAllToAll);
  made.timeline.ranks[1].host = "other";
  const JobGraph graph = made.graph();
  EXPECT_THAT(waitsOf(graph, 0), ElementsAre(20));
}

TEST(WaitsInside, InAnAllToAllWhoseClocksContradictItLengthsSayThem) {
  MeetingsByHand made = onOtherEnds(JobKind::kAllToAll);
  made.timeline.ranks[1].host = "other";
  made.shift(1, 3 * kNsPerMs);
  const JobGraph graph = made.graph();
  EXPECT_THAT(waitsOf(graph, 0), ElementsAre(15));
}

/// Ranks 0 to 3 in a ring exchange twice, each time 5 after their neighbours and they have come.
/// Rank 0 comes to the first at 50, others at 10; all compute for 10 between.
MeetingsByHand ring(bool oneHost) {
  MeetingsByHand made(4);
  const Nanoseconds come[2][4] = {{50, 10, 10, 10}, {65, 65, 25, 65}};
  const Nanoseconds last[2][4] = {{50, 50, 10, 50}, {65, 65, 65, 65}};
  const std::string_view neighbours[4] = {"1 3", "0 2", "1 3", "0 2"};
  for (int rank = 0; rank < 4; ++rank) {
    if (!oneHost && rank > 0) made.timeline.ranks[rank].host = "other";
    made.job(rank, 0, 100);
    for (int n = 0; n < 2; ++n) {
      made.meet(rank, come[n][rank], last[n][rank] + 5,
                {.ranks = "0 1 2 3", .partners = neighbours[rank], .kind = JobKind::kAllToAll});
    }
    made.kernel(rank, 0, come[0][rank]);
    made.kernel(rank, last[0][rank] + 5, come[1][rank]);
    made.kernel(rank, last[1][rank] + 5, 100);
  }
  return made;
}

TEST(WaitsInside, InARingTheyAreForNeighboursOnly) {
  for (const bool oneHost : {true, false}) {
    MeetingsByHand made = ring(oneHost);
    const JobGraph graph = made.graph();
    EXPECT_THAT(waitsOf(graph, 0), ElementsAre(0, 0));
    EXPECT_THAT(waitsOf(graph, 1), ElementsAre(40, 0));
    EXPECT_THAT(waitsOf(graph, 2), ElementsAre(0, 40)) << "for 1 and 3, which had waited for 0";
    EXPECT_THAT(waitsOf(graph, 3), ElementsAre(40, 0));
    const InsideJobs::Chain chain = graph.inside().chain(jobOf(graph, 2));
    EXPECT_EQ(chain.entry, jobOf(graph, 0));
    ASSERT_EQ(chain.links.size(), 1U);
    EXPECT_EQ(chain.links[0].job, jobOf(graph, 0));
    EXPECT_EQ(chain.links[0].excess, 40);
    const InsideJobs::Chain one = graph.inside().chainOf(meetingOf(graph, 2, 0, 1));
    EXPECT_EQ(one.entry, jobOf(graph, 0)) << "1 had met it, and was late for that";
  }
}

TEST(WaitsInside, InARingOnlyAMissingNeighbourIsWaitedFor) {
  constexpr Nanoseconds kUs = kNsPerUs;
  MeetingsByHand made(3);  // of a ring of five
  for (const int rank : {0, 1, 2}) {
    const std::string_view neighbours[3] = {"1 4", "0 2", "1 3"};
    made.job(rank, 0, 1000 * kUs);
    for (const Nanoseconds length : {30 * kUs, 300 * kUs}) {
      const Nanoseconds begin = length == 30 * kUs ? 100 * kUs : 500 * kUs;
      made.meet(rank, begin, begin + length,
                {.ranks = "0 1 2 3 4", .partners = neighbours[rank], .kind = JobKind::kAllToAll});
    }
  }
  const JobGraph graph = made.graph();
  EXPECT_TRUE(meetingOf(graph, 0, 0, 1).lacksLast);
  EXPECT_FALSE(meetingOf(graph, 1, 0, 1).lacksLast);
  EXPECT_TRUE(meetingOf(graph, 2, 0, 1).lacksLast);
}

TEST(WaitsInside, OfACollectiveThatOneRankAloneRecordedNoneAreKnown) {
  MeetingsByHand made;
  made.job(0, 0, 100);
  made.meet(0, 10, 40, {.sequence = 1});
  made.meet(0, 50, 90, {.sequence = 2});
  made.job(1, 0, 100);
  made.meet(1, 80, 90, {.sequence = 2});
  const JobGraph graph = made.graph();
  EXPECT_THAT(waitsOf(graph, 0), ElementsAre(0, 30));
  EXPECT_FALSE(meetingOf(graph, 0).lacksLast);
  EXPECT_NE(graph.inside().instanceOf(0), graph.inside().instanceOf(1));
}

// Rank 1 has no micro-batches in its log, so that its only job counts as that of micro-batch 0.
TEST(WaitsInside, WhereARecordingBeginsInAStepTheNumbersOfCollectivesSayWhoMet) {
  const auto waitsWith = [](bool haveNumbers) {
    MeetingsByHand made;
    made.job(0, 0, 50, kNotGiven);
    made.meet(0, 10, 40, {.sequence = haveNumbers ? 7 : -1});
    made.job(0, 50, 100, kNotGiven);
    made.meet(0, 55, 95, {.sequence = haveNumbers ? 8 : -1});
    made.job(1, 50, 100, kNotGiven);
    made.meet(1, 80, 95, {.sequence = haveNumbers ? 8 : -1});
    return waitsOf(made.graph(), 0);
  };
  EXPECT_THAT(waitsWith(true), ElementsAre(0, 25));
  EXPECT_THAT(waitsWith(false), ElementsAre(30, 0)) << "by their places in jobs";
}

TEST(WaitsInside, JobsThatAreAlikeMeetInTheOrderOfTheirCollectives) {
  MeetingsByHand made;
  for (const int rank : {0, 1}) {
    // Rank 1 does the micro-batches in another order.
    for (const int n : {0, 1}) {
      made.job(rank, 100 * n, 100 * n + 100, rank == 0 ? n : 1 - n);
      made.meet(rank, 100 * n + 10, 100 * n + 20);
      made.meet(rank, 100 * n + 30, 100 * n + 40);
    }
  }
  const JobGraph graph = made.graph();
  const InsideJobs& inside = graph.inside();
  for (const std::uint32_t job : {0U, 1U}) {
    for (const std::uint32_t n : {0U, 1U}) {
      EXPECT_EQ(inside.instanceOf(inside.meetingsOf(jobOf(graph, 0, job)).first + n),
                inside.instanceOf(inside.meetingsOf(jobOf(graph, 1, 1 - job)).first + n));
    }
  }
}

TEST(WaitsInside, WhatTakesLongerThanTheShortestOfItsSizeWaitsForARankWithoutATrace) {
  MeetingsByHand made;
  constexpr Nanoseconds kUs = kNsPerUs;
  for (const int rank : {0, 1}) {
    made.job(rank, 0, 1000 * kUs);
    const Group group{.ranks = "0 1 2", .bytes = 64};
    made.meet(rank, 100 * kUs, 130 * kUs, group);
    made.meet(rank, (rank == 0 ? 200 : 210) * kUs, 310 * kUs, group);
    // Not longer by enough.
    made.meet(rank, 400 * kUs, 440 * kUs, group);
    // Of another size, so that it may take its time.
    made.meet(rank, 500 * kUs, 900 * kUs, {.ranks = "0 1 2", .bytes = 4096});
  }
  const JobGraph graph = made.graph();
  EXPECT_THAT(waitsOf(graph, 0), ElementsAre(0, 80 * kUs, 0, 0));
  EXPECT_THAT(waitsOf(graph, 1), ElementsAre(0, 70 * kUs, 0, 0));
  for (const int rank : {0, 1}) {
    EXPECT_TRUE(meetingOf(graph, rank, 0, 1).lacksLast);
    EXPECT_EQ(meetingOf(graph, rank, 0, 1).last, InsideJobs::kNone);
    EXPECT_FALSE(meetingOf(graph, rank, 0, 0).lacksLast);
  }
  const InsideJobs::Chain chain = graph.inside().chain(jobOf(graph, 0));
  EXPECT_EQ(chain.entry, InsideJobs::kNone) << "it leads to a rank without a trace";
}

// Chains and usual lengths -----------------------------------------------------------------------

/// Micro-batches of two ranks with two collectives each. A rank computes 40 instead of 10 in each
/// segment from `slowFrom` on.
MeetingsByHand withASlowRank(int microBatches, int slowFrom, int slowRank = 1) {
  MeetingsByHand made;
  Nanoseconds at = 0;
  for (int n = 0; n < microBatches; ++n) {
    const Nanoseconds slow = n >= slowFrom ? 40 : 10;
    const Nanoseconds end = at + 3 * slow + 2 * 5;
    for (const int rank : {0, 1}) {
      const Nanoseconds length = rank == slowRank ? slow : 10;
      made.job(rank, at, end, n);
      for (const int place : {0, 1}) {
        const Nanoseconds from = at + place * (slow + 5);
        made.kernel(rank, from, from + length);
        made.meet(rank, from + length, from + slow + 5);
      }
      made.kernel(rank, end - slow, end - slow + length);
    }
    at = end;
  }
  return made;
}

TEST(InsideChains, LeadFromAWaitToTheRankThatCameLastAndSayByHowMuchItWasLonger) {
  MeetingsByHand made = withASlowRank(5, 3);
  const JobGraph graph = made.graph();
  const InsideJobs& inside = graph.inside();
  const JobGraph::Id waits = jobOf(graph, 0, 4);
  const JobGraph::Id slow = jobOf(graph, 1, 4);
  ASSERT_TRUE(inside.hasChain(waits));
  EXPECT_FALSE(inside.hasChain(slow));
  const InsideJobs::Chain chain = inside.chain(waits);
  EXPECT_EQ(chain.entry, slow);
  // On rank 0 its own end, which is launch-bound, takes 40 as on rank 1. Usually it takes 10.
  ASSERT_EQ(chain.links.size(), 2U);
  EXPECT_EQ(chain.links[0].job, waits);
  EXPECT_EQ(chain.links[0].excess, 30);
  EXPECT_EQ(chain.links[1].job, slow);
  EXPECT_EQ(chain.links[1].excess, 2 * 30);
  EXPECT_FALSE(inside.hasChain(jobOf(graph, 0, 0)));
  EXPECT_EQ(inside.chain(jobOf(graph, 0, 0)).entry, jobOf(graph, 0, 0));
}

TEST(InsideChains, OfOneWaitEndsWhereTheRanksHadLastMet) {
  MeetingsByHand made = withASlowRank(5, 3);
  const JobGraph graph = made.graph();
  const InsideJobs& inside = graph.inside();
  const JobGraph::Id slow = jobOf(graph, 1, 4);
  const InsideJobs::Chain second = inside.chainOf(meetingOf(graph, 0, 4, 1));
  EXPECT_EQ(second.entry, InsideJobs::kNone) << "they had met in this job";
  ASSERT_EQ(second.links.size(), 1U);
  EXPECT_EQ(second.links[0].job, slow);
  EXPECT_EQ(second.links[0].excess, 30);
  const InsideJobs::Chain first = inside.chainOf(meetingOf(graph, 0, 4, 0));
  EXPECT_EQ(first.entry, slow);
  ASSERT_EQ(first.links.size(), 1U);
  EXPECT_EQ(first.links[0].excess, 30);
}

// Rank 0 waits for rank 1, which had waited for rank 2.
TEST(InsideChains, GoOnFromTheRankThatCameLastToTheOneThatItHadWaitedFor) {
  MeetingsByHand made(3);
  const auto addBatch = [&](Nanoseconds at, int n, Nanoseconds slow) {
    const Nanoseconds met = at + slow + 5;
    const Group later{.ranks = "0 1", .use = "tensor-parallel"};
    const Group sooner{.ranks = "1 2", .use = "context-parallel"};
    made.job(2, at, met, n);
    made.meet(2, at + slow, met, sooner);
    made.job(1, at, met + 25, n);
    made.meet(1, at + 10, met, sooner);
    made.meet(1, met + 20, met + 25, later);
    made.job(0, at, met + 25, n);
    made.meet(0, at + 20, met + 25, later);
  };
  for (const int n : {0, 1, 2}) addBatch(200 * n, n, n == 2 ? 60 : 10);
  const JobGraph graph = made.graph();
  const InsideJobs::Chain chain = graph.inside().chain(jobOf(graph, 0, 2));
  EXPECT_EQ(chain.entry, jobOf(graph, 2, 2));
  ASSERT_EQ(chain.links.size(), 1U);
  EXPECT_EQ(chain.links[0].job, jobOf(graph, 2, 2));
  EXPECT_EQ(chain.links[0].excess, 50);
  const InsideJobs::Chain ofWait = graph.inside().chainOf(meetingOf(graph, 0, 2));
  EXPECT_EQ(ofWait.entry, jobOf(graph, 2, 2));
  ASSERT_EQ(ofWait.links.size(), 1U);
  EXPECT_EQ(ofWait.links[0].job, jobOf(graph, 2, 2));
}

// A gather for the next job runs beside a collective of the job's own, and longer. Its part is that
// of the one that ends last. The kernel waited for the other one.
TEST(InsideJobsOfARun, AreHeldByTheCollectiveAfterWhichWorkGoesOn) {
  MeetingsByHand made;
  for (const int rank : {0, 1}) {
    made.job(rank, 0, 9000);
    made.kernel(rank, 0, 1000);
    made.meet(rank, 1000, 3000, {.use = "context-parallel"});
    made.meet(rank, 1000, 6500, {.use = "data-parallel", .kind = JobKind::kAllGather});
    made.kernel(rank, 3000, 5000);
    made.kernel(rank, 6500, 9000);
  }
  const JobGraph graph = made.graph();
  const InsideJobs& inside = graph.inside();
  const auto [first, end] = inside.meetingsOf(0);
  ASSERT_EQ(end - first, 2U);
  for (InsideJobs::Id m = first; m < end; ++m) {
    const bool isGather = inside.setOf(inside.meetings()[m]).kind == JobKind::kAllGather;
    EXPECT_EQ(inside.meetings()[m].movingInside, isGather ? 2000 + 1500 : 0);
    EXPECT_EQ(inside.heldBy(m), isGather ? 1500 : 2000);
    EXPECT_EQ(inside.starterOf(inside.meetings()[m]), 0U);
  }
}

// A gather for the next job runs through a gap between kernels: the host made it.
TEST(InsideJobsOfARun, AreNotHeldByACollectiveBesideWhichWorkGoesOn) {
  MeetingsByHand made;
  for (const int rank : {0, 1}) {
    made.job(rank, 0, 9000);
    made.kernel(rank, 0, 1000);
    made.meet(rank, 1000, 9000, {.use = "data-parallel", .kind = JobKind::kAllGather});
    made.kernel(rank, 3000, 9000);
  }
  const JobGraph graph = made.graph();
  EXPECT_EQ(graph.inside().meetings()[0].movingInside, 2000);
  EXPECT_EQ(graph.inside().heldBy(0), 0);
}

/// Two micro-batches in which a collective runs beside a kernel of 20. Rank 1 comes to the first
/// `late` after rank 0. It moves for 30.
MeetingsByHand collectiveBesideWork(Nanoseconds late) {
  MeetingsByHand made;
  for (const int rank : {0, 1}) {
    for (const int n : {0, 1, 2}) {
      const Nanoseconds begin = 100 * n;
      const Nanoseconds more = n == 0 ? late : 0;
      const Nanoseconds own = rank == 1 ? more : 0;
      made.job(rank, begin, begin + more + 60, n);
      made.kernel(rank, begin, begin + own + 10);
      made.meet(rank, begin + own + 10, begin + more + 40);
      made.kernel(rank, begin + own + 10, begin + own + 30);
      made.kernel(rank, begin + more + 40, begin + more + 60);
    }
  }
  return made;
}

TEST(InsideChains, OfACollectiveBesideWorkLeadToTheLateMemberThoughNobodyWasSeenToWait) {
  constexpr Nanoseconds kLate = 15;
  MeetingsByHand made = collectiveBesideWork(kLate);
  const JobGraph graph = made.graph();
  const Meeting& wait = meetingOf(graph, 0);
  EXPECT_EQ(wait.waiting, kLate);
  EXPECT_EQ(wait.waitingInside, 0) << "its kernel ran";
  EXPECT_EQ(wait.movingInside, 10 + kLate) << "10 more than the kernel take all of them";
  EXPECT_EQ(wait.late(), kLate);
  EXPECT_EQ(graph.inside().lateIn(jobOf(graph, 0)), kLate);
  EXPECT_EQ(graph.lengthOf(jobOf(graph, 0)), 60) << "as without the late member";
  const InsideJobs::Chain chain = graph.inside().chain(jobOf(graph, 0));
  EXPECT_EQ(chain.entry, jobOf(graph, 1));
  ASSERT_EQ(chain.links.size(), 1U);
  EXPECT_EQ(chain.links[0].job, jobOf(graph, 1));
  EXPECT_EQ(chain.links[0].excess, kLate);
}

TEST(InsideChains, TheBusiestOfAGroupIsItsLongestSegmentOverTheirMean) {
  for (const int slow : {0, 1}) {
    MeetingsByHand made = withASlowRank(4, 0, slow);
    const JobGraph graph = made.graph();
    EXPECT_DOUBLE_EQ(graph.inside().busiest({0, 1}), 40 / 25.0);
    EXPECT_DOUBLE_EQ(graph.inside().busiest({0, 2}), 1);
  }
}

TEST(MediansOfJobsInWhichRanksMeet, LackWhatRanksWait) {
  MeetingsByHand made = withASlowRank(4, 0);
  const JobGraph graph = made.graph();
  const JobGraph::Id job = jobOf(graph, 0, 1);
  EXPECT_EQ(graph.node(job).end - graph.node(job).begin, 3 * 40 + 2 * 5);
  EXPECT_EQ(graph.lengthOf(job), 3 * 40 + 2 * 5 - 2 * 30);
  EXPECT_EQ(graph.lengthOf(jobOf(graph, 1, 1)), 3 * 40 + 2 * 5);
  // A stage has the lower median of its ranks.
  EXPECT_EQ(MedianDurations(graph).median(jobOf(graph, 1, 1)), 3 * 40 + 2 * 5 - 2 * 30);
  const MedianDurations own(graph, 1, {}, MedianDurations::Of::kOwnTimes);
  EXPECT_EQ(own.median(jobOf(graph, 1, 1)), 3 * 40 - 2 * 30);
}

TEST(SetsOfMeetings, HaveTheirUseSizeAndUsualTime) {
  MeetingsByHand made(4);
  for (int rank = 0; rank < 4; ++rank) {
    made.job(rank, 0, 100);
    made.kernel(rank, 0, 10);
    const Group group{.ranks = rank < 2 ? "1 0" : "2 3", .use = "tensor-parallel", .bytes = 32};
    made.meet(rank, rank % 2 == 0 ? 10 : 15, rank < 2 ? 25 : 55, group);
  }
  const JobGraph graph = made.graph();
  const std::vector<InsideJobs::Set>& sets = graph.inside().sets();
  ASSERT_EQ(sets.size(), 2U);
  for (const InsideJobs::Set& set : sets) {
    EXPECT_EQ(set.axis, GroupAxis::kTensor);
    EXPECT_EQ(set.bytes, 32);
    EXPECT_EQ(set.kind, JobKind::kAllReduce);
    EXPECT_EQ(set.moving, set.ranks.front() == 0 ? 10 : 40);
  }
  EXPECT_THAT(sets[0].ranks, ElementsAre(0, 1));
}

// Rank 0 is of stage 0 and its own groups say what they are for.
TEST(SetsOfMeetings, WithoutAUseTakeThatOfTheGroupsThatRanksName) {
  MeetingsByHand made;
  made.timeline.ranks[0].groups = {{.ranks = {0, 1}, .axis = GroupAxis::kContext}};
  for (const int rank : {0, 1}) {
    made.job(rank, 0, 100);
    made.meet(rank, 10, 20);
  }
  const JobGraph graph = made.graph();
  EXPECT_EQ(graph.inside().sets().at(0).axis, GroupAxis::kContext);
  EXPECT_EQ(graph.inside().sets().at(0).moving, 0) << "not known without a device";
}

TEST(SetsOfMeetings, WhoseUseIsANameHaveNoOtherAxis) {
  MeetingsByHand made;
  made.timeline.ranks[0].groups = {{.ranks = {0, 1}, .axis = GroupAxis::kContext}};
  for (const int rank : {0, 1}) {
    made.job(rank, 0, 100);
    made.meet(rank, 10, 20, {.use = "my_group"});
  }
  const JobGraph graph = made.graph();
  EXPECT_EQ(graph.inside().sets().at(0).axis, GroupAxis::kOther);
}

TEST(InsideJobsOfARun, WithoutGroupsAreEmpty) {
  MeetingsByHand made;
  made.job(0, 0, 100);
  made.add(0, JobKind::kAllReduce, 10, 50, 0, kNotGiven, "stream 20").job = 0;
  const JobGraph graph = made.graph();
  EXPECT_TRUE(graph.inside().empty());
  EXPECT_THAT(graph.inside().meetings(), IsEmpty());
  EXPECT_THAT(listOf(graph.inside().partsOf(0)), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(graph.lengthOf(0), 100);
}

}  // namespace
}  // namespace pipetrace
