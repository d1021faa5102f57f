// Jobs of facts that are made by hand: which operators follow each other, and their numbers.
#include "parser/foreign/found_jobs/find_jobs.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "parser/foreign/found_jobs/number_jobs.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A host that runs one operator after the other. Each takes 8 us, and 2 us pass between them.
class Host {
 public:
  /// Operators of a forward: as many with a number, called `first`, first + 1, ….
  Host& forward(int count, StringId first = 1) {
    begins_.push_back(number_);
    for (int i = 0; i < count; ++i) add(first + static_cast<StringId>(i), number_++, false);
    return *this;
  }
  /// Operators without a number.
  Host& other(int count, StringId name = 50) {
    for (int i = 0; i < count; ++i) add(name, HostOperator::kNoNumber, false);
    return *this;
  }
  /// The backward of the operators `from` to before `end` of a forward.
  Host& backward(int forward, int from, int end) {
    for (int i = end; i-- > from;) {
      add(100, begins_[static_cast<std::size_t>(forward)] + i, true);
      add(101, HostOperator::kNoNumber, true);  // it takes a gradient
    }
    return *this;
  }
  Host& message() {
    facts_.hasMessages = true;
    facts_.cuts.push_back(now_);
    now_ += 10 * kNsPerUs;
    return *this;
  }

  /// "F0 0-20": each job with its forward's number, and its times in microseconds.
  std::vector<std::string> jobs() const {
    std::vector<std::string> list;
    for (const FoundJob& job : findJobs(facts_).jobs) {
      const char* const letter = job.kind == JobKind::kForward         ? "F"
                                 : job.kind == JobKind::kBackward      ? "B"
                                 : job.kind == JobKind::kBackwardInput ? "I"
                                                                       : "W";
      list.push_back(letter + std::to_string(job.pass) + " " +
                     std::to_string(job.begin / kNsPerUs) + "-" +
                     std::to_string(job.end / kNsPerUs));
    }
    return list;
  }
  const HostFacts& facts() const { return facts_; }

 private:
  void add(StringId name, std::int64_t number, bool isBackward) {
    facts_.operators.push_back({.begin = now_,
                                .end = now_ + 8 * kNsPerUs,
                                .number = number,
                                .name = name,
                                .isBackward = isBackward});
    now_ += 10 * kNsPerUs;
  }

  HostFacts facts_;
  Nanoseconds now_ = 0;
  std::int64_t number_ = 700;
  std::vector<std::int64_t> begins_;
};

TEST(FindJobs, BackwardIsThatOfTheForwardWithItsNumbers) {
  Host host;
  host.forward(3).message().forward(3).message().backward(1, 0, 3).message().backward(0, 0, 3);
  EXPECT_THAT(host.jobs(), ElementsAre("F0 0-28", "F1 40-68", "B1 80-138", "B0 150-208"));
}

TEST(FindJobs, ForwardOfTwoOperatorsIsFound) {
  Host host;
  host.forward(2).backward(0, 0, 2).forward(2).backward(1, 0, 2);
  EXPECT_THAT(host.jobs(), ElementsAre("F0 0-18", "B0 20-58", "F1 60-78", "B1 80-118"));
}

TEST(FindJobs, OperatorsThatOtherMicroBatchesLackAreNoPartOfAJob) {
  Host host;
  host.other(2, 60);  // sets a step up
  for (int i = 0; i < 4; ++i) host.other(1).forward(3).message();
  for (int i = 0; i < 4; ++i) host.backward(i, 0, 3).message();
  EXPECT_THAT(host.jobs(), ElementsAre("F0 20-58", "F1 70-108", "F2 120-158", "F3 170-208",
                                       "B0 220-278", "B1 290-348", "B2 360-418", "B3 430-488"));
}

TEST(FindJobs, AFewOperatorsBetweenTwoMessagesAreNoJob) {
  Host host;
  host.forward(3).message().other(2).message().backward(0, 0, 3);
  EXPECT_THAT(host.jobs(), ElementsAre("F0 0-28", "B0 70-128"));
  EXPECT_EQ(findJobs(host.facts()).runsUnplaced, 1) << "it takes two thirds of a forward";
}

TEST(FindJobs, RunOfOperatorsIsCutWhereItsBackwardsDoNotOverlap) {
  Host host;
  host.forward(3).forward(3).message().backward(0, 0, 3).message().backward(1, 0, 3);
  EXPECT_THAT(host.jobs(), ElementsAre("F0 0-28", "F1 30-58", "B0 70-128", "B1 140-198"));
}

TEST(FindJobs, RunOfAutogradIsCutWhereItsForwardChanges) {
  Host host;
  host.forward(3).message().forward(3).message().backward(1, 0, 3).backward(0, 0, 3);
  EXPECT_THAT(host.jobs(), ElementsAre("F0 0-28", "F1 40-68", "B1 80-138", "B0 140-198"));
}

TEST(FindJobs, SecondBackwardOfAForwardIsItsWeightHalf) {
  Host host;
  host.forward(3).message().forward(3).message();
  host.backward(0, 0, 3).message().backward(1, 0, 3);
  host.backward(1, 0, 3);  // goes over the same operators again
  host.other(1).backward(0, 0, 2).other(1).backward(0, 2, 3);
  EXPECT_THAT(host.jobs(), ElementsAre("F0 0-28", "F1 40-68", "I0 80-138", "I1 150-208",
                                       "W1 210-268", "W0 270-348"));
}

// As where a V hands over to its second half: nothing stands between two forwards of a rank.
TEST(FindJobs, ForwardThatAnotherFollowsAtOnceEndsAsTheOthersDo) {
  Host host;
  int forwards = 0;
  const auto forward = [&] {
    host.other(1).forward(2).other(1, 60);
    return forwards++;
  };
  for (int i = 0; i < 2; ++i) forward();
  host.message();
  for (int i = 0; i < 6; ++i) {
    forward();
    host.message();
  }
  for (int i = 0; i < forwards; ++i) host.backward(i, 0, 2).message();
  const std::vector<std::string> jobs = host.jobs();
  ASSERT_GE(jobs.size(), 3U);
  EXPECT_THAT((std::vector<std::string>{jobs[0], jobs[1], jobs[2]}),
              ElementsAre("F0 0-38", "F1 40-78", "F2 90-128"));
}

// Megatron-LM's combined 1F1B: a layer of a forward, a layer of another micro-batch's backward.
TEST(FindJobs, ForwardsAndBackwardsThatTakeTurnsAreNotToldApartAndSaidSo) {
  Host host;
  host.forward(6).message();
  for (int pass = 0; pass < 3; ++pass) {
    for (int layer = 0; layer < 3; ++layer) {
      host.forward(2, static_cast<StringId>(1 + 2 * layer));
      if (pass == 0) host.backward(0, 4 - 2 * layer, 6 - 2 * layer);
      if (pass > 0) host.backward(3 * pass - layer, 0, 2);
    }
    host.message();
  }
  for (int layer = 0; layer < 3; ++layer) host.backward(9 - layer, 0, 2);
  EXPECT_TRUE(findJobs(host.facts()).areTurns);
  EXPECT_THAT(host.jobs(), IsEmpty());
}

TEST(FindJobs, BackwardsOfEarlierForwardsBetweenForwardsAreFound) {
  Host host;
  host.forward(2).forward(2);
  for (int pass = 0; pass < 4; ++pass) host.backward(pass, 0, 2).forward(2);
  EXPECT_FALSE(findJobs(host.facts()).areTurns);
  EXPECT_THAT(host.jobs(), testing::SizeIs(10));
}

TEST(FindJobs, ForwardWhoseBackwardTheTraceLacksIsKnownByItsOperators) {
  Host host;
  for (int i = 0; i < 4; ++i) host.forward(3).message();
  for (int i = 0; i < 3; ++i) host.backward(i, 0, 3).message();
  EXPECT_THAT(host.jobs(), testing::Contains("F3 120-148"));
}

TEST(FindJobs, RunsThatTakeTheTimeAreForwardsWhereNothingIsABackward) {
  Host host;
  for (int i = 0; i < 3; ++i) host.forward(10).message().other(1).message();
  EXPECT_THAT(host.jobs(), ElementsAre("F0 0-98", "F1 130-228", "F2 260-358"));
  Host alone;
  alone.forward(10);
  EXPECT_THAT(alone.jobs(), IsEmpty()) << "there are no messages";
}

TEST(NumberByOrder, StepsEndWithOptimizersWhereNothingNamesThem) {
  Host host;
  for (int i = 0; i < 4; ++i) host.forward(2).backward(i, 0, 2);  // 60 us each
  const std::vector<FoundJob> jobs = findJobs(host.facts()).jobs;
  const std::vector<Nanoseconds> optimizers = {119 * kNsPerUs};
  const std::vector<JobNumbers> numbers = numberByOrder(
      jobs, [](Nanoseconds) { return std::int32_t{kNotGiven}; }, optimizers);
  std::vector<std::pair<int, int>> list;
  for (const JobNumbers& each : numbers) list.emplace_back(each.step, each.microBatch);
  EXPECT_THAT(list,
              ElementsAre(std::pair(0, 0), std::pair(0, 0), std::pair(0, 1), std::pair(0, 1),
                          std::pair(1, 0), std::pair(1, 0), std::pair(1, 1), std::pair(1, 1)));
}

TEST(NumberByOrder, BackwardsWithoutNumbersAreThoseOfTheForwardsInTheirOrder) {
  const std::vector<FoundJob> jobs = {{.begin = 0, .end = 1, .kind = JobKind::kForward, .pass = 0},
                                      {.begin = 1, .end = 2, .kind = JobKind::kForward, .pass = 1},
                                      {.begin = 2, .end = 3, .kind = JobKind::kBackward},
                                      {.begin = 3, .end = 4, .kind = JobKind::kBackward}};
  const std::vector<JobNumbers> numbers = numberByOrder(jobs, [](Nanoseconds) { return 7; }, {});
  EXPECT_EQ(numbers[2].microBatch, 0);
  EXPECT_EQ(numbers[3].microBatch, 1);
  EXPECT_EQ(numbers[3].step, 7);
}

}  // namespace
}  // namespace pipetrace
