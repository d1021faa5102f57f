// Jobs get the times of their own collectives that hold them up. Times are microseconds.
#include "parser/device_time/exposed_collectives.h"

#include <gmock/gmock.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;

constexpr Nanoseconds us(std::int64_t time) { return time * kNsPerUs; }

class ExposedCollectives : public testing::Test {
 protected:
  struct Kind {
    JobKind kind = JobKind::kForward;
    std::int32_t stage = 1;
    std::int16_t part = kNotGiven;
  };

  /// A job whose one kernel covers it. Returns its number.
  std::int32_t job(std::int64_t begin, std::int64_t end, Kind kind) {
    const std::int32_t number = jobOfHost(begin, end, kind);
    timeline_.addArguments(
        jobs_.back(), std::array{Argument::ofInteger(id(device_arguments::kKernels), 1),
                                 Argument::ofInteger(id(device_arguments::kCommInside), us(7))});
    work_.emplace_back(us(begin), us(end));
    return number;
  }
  std::int32_t job(std::int64_t begin, std::int64_t end) { return job(begin, end, Kind()); }

  /// A job that has the times of the host.
  std::int32_t jobOfHost(std::int64_t begin, std::int64_t end, Kind kind) {
    Event& event = jobs_.emplace_back();
    event.begin = us(begin);
    event.end = us(end);
    event.kind = kind.kind;
    event.stage = kind.stage;
    event.part = kind.part;
    messages_.emplace_back();
    return static_cast<std::int32_t>(jobs_.size()) - 1;
  }

  void collective(std::int32_t job, std::int64_t begin, std::int64_t end,
                  JobKind kind = JobKind::kAllReduce, std::string_view group = "0 1") {
    collectives_.push_back({job, id(group), kind, us(begin), us(end)});
  }
  void gather(std::int32_t job, std::int64_t begin, std::int64_t end) {
    collective(job, begin, end, JobKind::kAllGather);
  }
  void kernel(std::int64_t begin, std::int64_t end) { work_.emplace_back(us(begin), us(end)); }
  void receive(std::int32_t job, std::int64_t end) {
    messages_[static_cast<std::size_t>(job)].received = us(end);
  }
  void send(std::int32_t job, std::int64_t begin) {
    messages_[static_cast<std::size_t>(job)].sent = us(begin);
  }

  /// The jobs' times afterwards.
  std::vector<std::string> times() {
    addExposedCollectives(jobs_, collectives_, work_, messages_, timeline_);
    std::vector<std::string> list;
    for (const Event& each : jobs_) {
      list.push_back(std::to_string(each.begin / kNsPerUs) + " to " +
                     std::to_string(each.end / kNsPerUs));
    }
    return list;
  }

  /// By how much the job's comm_inside grew.
  std::int64_t covered(std::int32_t job) const {
    for (const Argument& each : timeline_.argumentsOf(jobs_[static_cast<std::size_t>(job)])) {
      if (timeline_.strings[each.key] == device_arguments::kCommInside) {
        return each.integer / kNsPerUs - 7;
      }
    }
    return -1;
  }

  StringId id(std::string_view text) { return timeline_.strings.intern(std::string(text)); }

  Timeline timeline_;
  std::vector<Event> jobs_;
  std::vector<StartedCollective> collectives_;
  DeviceWork work_;
  std::vector<MessagesOfJob> messages_;
};

TEST_F(ExposedCollectives, AJobLastsUntilItsCollectiveAfterItsLastKernelIsOver) {
  const std::int32_t first = job(1000, 2000);
  collective(first, 2000, 2300);
  const std::int32_t second = job(3000, 4000);
  collective(second, 3900, 4200);  // begins beside its own kernel
  EXPECT_THAT(times(), ElementsAre("1000 to 2300", "3000 to 4200"));
  EXPECT_EQ(covered(first), 300);
  EXPECT_EQ(covered(second), 200);
}

TEST_F(ExposedCollectives, AJobLastsUntilTheLastOfSeveralIsOver) {
  const std::int32_t only = job(1000, 2000);
  collective(only, 2250, 2600, JobKind::kAllGather);
  collective(only, 2050, 2200, JobKind::kReduceScatter);
  collective(only, 1200, 1400);
  EXPECT_THAT(times(), ElementsAre("1000 to 2600"));
  EXPECT_EQ(covered(only), 500) << "not the gaps of 50 before each";
}

TEST_F(ExposedCollectives, CollectivesAtOnceCountOnce) {
  const std::int32_t only = job(1000, 2000);
  collective(only, 1900, 2400);
  collective(only, 2100, 2200, JobKind::kAllReduce, "0 2");
  collective(only, 2300, 2500, JobKind::kAllReduce, "0 4");
  EXPECT_THAT(times(), ElementsAre("1000 to 2500"));
  EXPECT_EQ(covered(only), 500);
}

TEST_F(ExposedCollectives, OneInTenBesideTheNextJobIsThePartOfNoJob) {
  for (int i = 0; i < 10; ++i) {
    const std::int32_t next = job(1000 * i, 1000 * i + 700);
    collective(next, 1000 * i + 700, 1000 * i + (i == 3 ? 1001 : 900));
  }
  std::vector<std::string> expected;
  for (int i = 0; i < 10; ++i) {
    expected.push_back(std::to_string(1000 * i) + " to " + std::to_string(1000 * i + 700));
  }
  EXPECT_EQ(times(), expected);
  for (std::int32_t i = 0; i < 10; ++i) EXPECT_EQ(covered(i), 0);
}

TEST_F(ExposedCollectives, OneInElevenBesideTheNextJobIsAnExceptionThatIsNoPartOfItsJob) {
  std::vector<std::string> expected;
  for (int i = 0; i < 11; ++i) {
    const std::int32_t next = job(1000 * i, 1000 * i + 700);
    collective(next, 1000 * i + 700, 1000 * i + (i == 3 ? 1001 : 900));
    expected.push_back(std::to_string(1000 * i) + " to " +
                       std::to_string(1000 * i + (i == 3 ? 700 : 900)));
  }
  EXPECT_EQ(times(), expected);
}

TEST_F(ExposedCollectives, TheNextKernelMayBeginAsTheCollectiveEnds) {
  collective(job(1000, 2000), 2000, 2300);
  job(2300, 3000);
  EXPECT_THAT(times(), testing::Contains("1000 to 2300"));
}

TEST_F(ExposedCollectives, WorkOfNoJobBesideTheCollectiveShowsThatTheDeviceNeedsItNotYet) {
  collective(job(1000, 2000), 2000, 2300);
  kernel(2250, 2260);
  collective(job(3000, 4000, {.stage = 2}), 4000, 4300);
  kernel(4000, 4010);
  EXPECT_THAT(times(), ElementsAre("1000 to 2000", "3000 to 4000"));
}

TEST_F(ExposedCollectives, AJobThatSendsBeforeItsCollectiveEndsDoesNotLastUntilThen) {
  const std::int32_t before = job(1000, 2000, {.stage = 1});
  collective(before, 2000, 2300);
  send(before, 2299);
  const std::int32_t after = job(3000, 4000, {.stage = 2});
  collective(after, 4000, 4300);
  send(after, 4300);
  EXPECT_THAT(times(), ElementsAre("1000 to 2000", "3000 to 4300"));
}

TEST_F(ExposedCollectives, ACollectiveThatFewerThanHalfOfTheJobsHaveIsPartOfNone) {
  for (int i = 0; i < 3; ++i) job(1000 * i, 1000 * i + 500);
  collective(2, 2500, 2700);  // the sum of gradients
  const auto before = jobs_;
  EXPECT_THAT(times(), ElementsAre("0 to 500", "1000 to 1500", "2000 to 2500"));
  jobs_ = before;
  collective(1, 1500, 1600);
  EXPECT_THAT(times(), ElementsAre("0 to 500", "1000 to 1600", "2000 to 2700"));
}

TEST_F(ExposedCollectives, HalfOfTheJobsIsEnough) {
  for (int i = 0; i < 4; ++i) job(1000 * i, 1000 * i + 500);
  collective(0, 500, 700);
  collective(3, 3500, 3700);
  EXPECT_THAT(times(), ElementsAre("0 to 700", "1000 to 1500", "2000 to 2500", "3000 to 3700"));
}

TEST_F(ExposedCollectives, JobsOfOtherStagesKindsAndPartsSayNothingAboutThese) {
  collective(job(1000, 2000, {.stage = 1}), 2000, 2300);
  kernel(2200, 2210);
  collective(job(3000, 4000, {.stage = 2}), 4000, 4300);
  collective(job(5000, 6000, {.kind = JobKind::kBackward, .stage = 1}), 6000, 6300);
  collective(job(7000, 8000, {.stage = 1, .part = 1}), 8000, 8300);
  EXPECT_THAT(times(), ElementsAre("1000 to 2000", "3000 to 4300", "5000 to 6300", "7000 to 8300"));
}

TEST_F(ExposedCollectives, ThoseOfAnotherGroupOrKindCountApart) {
  collective(job(1000, 2000), 2000, 2300);
  const std::int32_t ofOthers = job(3000, 4000);
  collective(ofOthers, 4000, 4300, JobKind::kAllReduce, "0 2");
  collective(ofOthers, 4000, 4400, JobKind::kReduceScatter);
  kernel(4200, 4210);
  EXPECT_THAT(times(), ElementsAre("1000 to 2300", "3000 to 4000"));
}

TEST_F(ExposedCollectives, TheSecondOfAJobCountsApartFromTheFirst) {
  const std::int32_t only = job(1000, 2000);
  collective(only, 2000, 2100);
  collective(only, 2150, 2800);
  kernel(2700, 2710);
  EXPECT_THAT(times(), ElementsAre("1000 to 2100"));
}

TEST_F(ExposedCollectives, ThePlaceOfACollectiveIsAmongThoseOfItsGroupAndKind) {
  const std::int32_t first = job(1000, 2000);
  collective(first, 1100, 1200, JobKind::kAllReduce, "0 2");
  collective(first, 1300, 1400, JobKind::kReduceScatter);
  collective(first, 2000, 2300);
  collective(job(3000, 4000), 4000, 4300);
  kernel(4200, 4210);
  EXPECT_THAT(times(), ElementsAre("1000 to 2000", "3000 to 4000"))
      << "one of two runs beside work";
}

TEST_F(ExposedCollectives, ACollectiveThatEndsInItsJobRunsBesideNoOther) {
  const std::int32_t first = job(1000, 2000);
  collective(first, 1500, 1600);
  send(first, 1550);
  collective(job(3000, 4000), 4000, 4300);
  EXPECT_THAT(times(), ElementsAre("1000 to 2000", "3000 to 4300"));
}

TEST_F(ExposedCollectives, AJobBeginsWithTheGatherThatItsFirstKernelWaitsFor) {
  const std::int32_t only = job(1000, 2000);
  gather(only, 600, 900);  // 100 before the kernel
  EXPECT_THAT(times(), ElementsAre("600 to 2000"));
  EXPECT_EQ(covered(only), 300);
}

TEST_F(ExposedCollectives, EachCollectiveBeforeTheFirstKernelThatTheNextOneWaitedForCounts) {
  const std::int32_t only = job(1000, 2000);
  collective(only, 350, 600, JobKind::kReduceScatter);
  collective(only, 700, 950, JobKind::kAllToAll);
  collective(only, 200, 300, JobKind::kAllReduce);
  EXPECT_THAT(times(), ElementsAre("200 to 2000"));
  EXPECT_EQ(covered(only), 600);
}

TEST_F(ExposedCollectives, AJobDoesNotBeginBeforeItsLastMessageIsThere) {
  const std::int32_t only = job(1000, 2000);
  gather(only, 600, 950);
  receive(only, 800);
  EXPECT_THAT(times(), ElementsAre("800 to 2000"));
  EXPECT_EQ(covered(only), 150);
}

TEST_F(ExposedCollectives, AMessageThatComesAfterTheFirstKernelMovesNothing) {
  const std::int32_t only = job(1000, 2000);
  gather(only, 600, 950);
  receive(only, 1500);
  EXPECT_THAT(times(), ElementsAre("1000 to 2000"));
  EXPECT_EQ(covered(only), 0);
}

TEST_F(ExposedCollectives, AJobDoesNotBeginBeforeTheWorkBeforeItIsOver) {
  job(100, 700, {.kind = JobKind::kBackward});
  gather(job(1000, 2000), 600, 950);
  EXPECT_THAT(times(), ElementsAre("100 to 700", "700 to 2000"));
}

TEST_F(ExposedCollectives, AnEarlierKernelThatEndsLaterIsWorkBeforeTheJobToo) {
  kernel(100, 800);
  kernel(200, 300);
  gather(job(1000, 2000), 600, 950);
  EXPECT_THAT(times(), ElementsAre("800 to 2000"));
}

TEST_F(ExposedCollectives, AJobDoesNotBeginBeforeTheCollectiveOfTheJobBeforeIsOver) {
  const std::int32_t before = job(100, 500, {.kind = JobKind::kBackward});
  collective(before, 500, 850);
  gather(job(1000, 2000), 600, 950);
  EXPECT_THAT(times(), ElementsAre("100 to 850", "850 to 2000"));
}

// The next job waits for its peers while the sum of the job before still runs.
TEST_F(ExposedCollectives, OneBesideWhichTheNextJobMeetsOtherRanksHoldsUpNobody) {
  for (const std::string group : {"0 2", "0 1"}) {
    jobs_.clear();
    collectives_.clear();
    work_.clear();
    messages_.clear();
    const std::int32_t before = job(1000, 2000, {.kind = JobKind::kBackward});
    collective(before, 2000, 2800, JobKind::kReduceScatter, group);
    const std::int32_t next = job(3000, 4000, {.kind = JobKind::kBackward, .stage = 2});
    collective(next, 2100, 3000);
    const bool isOther = group == "0 2";
    EXPECT_EQ(times().at(0), isOther ? "1000 to 2000" : "1000 to 2800") << group;
  }
}

TEST_F(ExposedCollectives, AGatherThatAJobBeforeStartedIsOfTheJobThatItHoldsUp) {
  const std::int32_t before = job(1000, 2000, {.kind = JobKind::kBackward});
  gather(before, 1500, 2900);
  send(before, 2050);  // it does not need the data itself
  const std::int32_t next = job(3000, 4000);
  EXPECT_THAT(times(), ElementsAre("1000 to 2000", "2000 to 4000"));
  EXPECT_EQ(covered(before), 0);
  EXPECT_EQ(covered(next), 900);
}

TEST_F(ExposedCollectives, AGatherOfAJobBeforeThatWasOverLongBeforeHoldsUpNobody) {
  const std::int32_t before = job(1000, 2000, {.kind = JobKind::kBackward});
  gather(before, 1500, 2799);
  send(before, 2050);
  job(3000, 9000);
  EXPECT_THAT(times(), ElementsAre("1000 to 2000", "3000 to 9000"));
}

TEST_F(ExposedCollectives, OtherCollectivesOfAJobBeforeHoldUpNobody) {
  const std::int32_t before = job(1000, 2000, {.kind = JobKind::kBackward});
  collective(before, 1500, 2900, JobKind::kReduceScatter);
  send(before, 2050);
  job(3000, 4000);
  EXPECT_THAT(times(), ElementsAre("1000 to 2000", "3000 to 4000"));
}

TEST_F(ExposedCollectives, APauseAfterACollectiveThatBeganWithAllInputsIsOfTheJob) {
  const std::int32_t only = job(1000, 2000);
  receive(only, 300);
  collective(only, 300, 500);
  EXPECT_THAT(times(), ElementsAre("300 to 2000")) << "the host launched the kernel late";
  EXPECT_EQ(covered(only), 200);
}

TEST_F(ExposedCollectives, ALongPauseAfterACollectiveThatBeganBeforeTheInputsIsNotOfTheJob) {
  const std::int32_t tooLate = job(1000, 2000);
  receive(tooLate, 301);
  collective(tooLate, 300, 500);
  const std::int32_t unknown = job(4000, 5000);
  collective(unknown, 3300, 3799);
  EXPECT_THAT(times(), ElementsAre("1000 to 2000", "4000 to 5000"));
}

TEST_F(ExposedCollectives, JobsThatNeedNoMessageHaveAllInputsAtOnce) {
  collective(job(1000, 2000, {.stage = 0}), 300, 500);
  collective(job(4000, 5000, {.kind = JobKind::kBackwardWeight}), 3300, 3500);
  collective(job(7000, 8000, {.kind = JobKind::kBackward, .stage = 0}), 6300, 6500);
  EXPECT_THAT(times(), ElementsAre("300 to 2000", "3300 to 5000", "7000 to 8000"));
}

TEST_F(ExposedCollectives, ATwentiethOfALongJobIsNoLongPause) {
  collective(job(10'000, 20'000), 9000, 9500);
  collective(job(30'000, 40'000), 29'000, 29'499);
  collective(job(50'000, 50'100), 49'000, 49'800);
  EXPECT_THAT(times(), ElementsAre("9000 to 20000", "30000 to 40000", "49000 to 50100"));
}

TEST_F(ExposedCollectives, CollectivesThatEndAfterTheFirstKernelBeganDoNotMoveTheBegin) {
  const std::int32_t only = job(1000, 2000);
  gather(only, 600, 1001);
  EXPECT_THAT(times(), ElementsAre("1000 to 2000"));
  EXPECT_EQ(covered(only), 0);
}

TEST_F(ExposedCollectives, CollectivesBesideOtherWorkCountWhereTheyRunInTheTimeThatAJobGets) {
  const std::int32_t before = job(100, 500, {.kind = JobKind::kBackward});
  collective(before, 500, 5000, JobKind::kReduceScatter);  // runs beside all that follows
  const std::int32_t next = job(1000, 2000);
  gather(next, 700, 800);
  EXPECT_THAT(times(), ElementsAre("100 to 500", "700 to 2000"));
  EXPECT_EQ(covered(next), 300);
}

TEST_F(ExposedCollectives, JobsWithTimesOfTheHostAndOtherThanComputeJobsDoNotChange) {
  const std::int32_t host = jobOfHost(1000, 2000, {});
  timeline_.addArguments(jobs_[0], std::array{Argument::ofText(id(device_arguments::kTime),
                                                               id(device_arguments::kTimeOfHost))});
  gather(host, 900, 1000);
  collective(host, 2000, 2300);
  const std::int32_t optimizer = job(3000, 4000, {.kind = JobKind::kOptimizer});
  gather(optimizer, 2900, 3000);
  collective(optimizer, 4000, 4300);
  EXPECT_THAT(times(), ElementsAre("1000 to 2000", "3000 to 4000"));
  EXPECT_EQ(covered(optimizer), 0);
}

TEST_F(ExposedCollectives, WithoutCollectivesNothingChanges) {
  const std::int32_t first = job(1000, 2000);
  send(first, 2100);
  const std::int32_t second = job(3000, 4000);
  receive(second, 2950);
  EXPECT_THAT(times(), ElementsAre("1000 to 2000", "3000 to 4000"));
  EXPECT_EQ(covered(first), 0);
  EXPECT_EQ(covered(second), 0);
}

TEST_F(ExposedCollectives, JobsMayBeInAnyOrder) {
  const std::int32_t later = job(3000, 4000);
  const std::int32_t earlier = job(1000, 2000);
  collective(later, 2350, 2990);
  collective(earlier, 2000, 2300);
  collective(later, 4000, 4300, JobKind::kAllReduce, "0 2");
  collective(earlier, 2300, 2350, JobKind::kAllReduce, "0 2");
  EXPECT_THAT(times(), ElementsAre("2350 to 4300", "1000 to 2350"));
}

TEST_F(ExposedCollectives, ACollectiveThatWasOverBeforeTheMessageCameMovesNothing) {
  const std::int32_t only = job(1000, 2000);
  collective(only, 600, 800);
  receive(only, 900);
  EXPECT_THAT(times(), ElementsAre("1000 to 2000"));
}

TEST_F(ExposedCollectives, AGatherThatWasOverBeforeTheMessageCameMovesNothing) {
  const std::int32_t before = job(100, 500, {.kind = JobKind::kBackward});
  gather(before, 300, 850);
  send(before, 510);
  const std::int32_t only = job(1000, 2000);
  receive(only, 900);
  EXPECT_THAT(times(), ElementsAre("100 to 500", "1000 to 2000"));
}

}  // namespace
}  // namespace pipetrace
