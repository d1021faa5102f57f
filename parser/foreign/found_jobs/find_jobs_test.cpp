// Jobs of facts that are made by hand: which operators follow each other, and their numbers.
#include "parser/foreign/found_jobs/find_jobs.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int kThree = 3;  // layers

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
  /// A forward of layers of two operators each.
  Host& layers(int count) {
    beginPass();
    return forward(2 * count);
  }
  void beginPass() { passes_.push_back(number_); }
  /// The backward of layers `from` to before `end` of the pass: a call each.
  Host& backwardOf(int pass, int from, int end) {
    for (int layer = end; layer-- > from;) {
      begins_.push_back(passes_[static_cast<std::size_t>(pass)] + 2 * layer);
      backward(static_cast<int>(begins_.size()) - 1, 0, 2);
    }
    return *this;
  }
  Host& backwardOfLayers(int pass) { return backwardOf(pass, 0, kThree); }
  /// A layer of the next forward, and the one of the pass whose turn it is.
  Host& turn(int pass, int layer) {
    if (layer == 0) beginPass();
    forward(2, static_cast<StringId>(1 + 2 * layer));
    return backwardOf(pass, kThree - 1 - layer, kThree - layer);
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
      const bool isPair = job.kind == JobKind::kForwardBackward;
      const char* const letter = job.kind == JobKind::kForward || isPair ? "F"
                                 : job.kind == JobKind::kBackward        ? "B"
                                 : job.kind == JobKind::kBackwardInput   ? "I"
                                                                         : "W";
      list.push_back(letter + std::to_string(job.pass) +
                     (isPair ? "&B" + std::to_string(job.backwardPass) : "") + " " +
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
  std::vector<std::int64_t> passes_;  // the first number of forwards of layers
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
TEST(FindJobs, ForwardAndBackwardThatTakeTurnsAreOneFusedPair) {
  Host host;
  host.layers(kThree).message();
  for (int pass = 0; pass < 2; ++pass) {
    for (int layer = 0; layer < kThree; ++layer) host.turn(pass, layer);
    host.message();
  }
  host.backwardOfLayers(2);
  EXPECT_FALSE(findJobs(host.facts()).areTurns);
  EXPECT_THAT(host.jobs(), ElementsAre("F0 0-58", "F1&B0 70-248", "F2&B1 260-438", "B2 450-568"));
}

// As without a pipeline: nothing but the numbers parts one pair from the next.
TEST(FindJobs, FusedPairsThatNoMessagePartsEndWhereAnotherBackwardBegins) {
  Host host;
  host.layers(kThree);
  for (int pass = 0; pass < 3; ++pass) {
    for (int layer = 0; layer < kThree; ++layer) host.turn(pass, layer);
  }
  host.backwardOfLayers(3);
  EXPECT_THAT(host.jobs(), ElementsAre("F0 0-58", "F1&B0 60-238", "F2&B1 240-418", "F3&B2 420-598",
                                       "B3 600-718"));
}

// A loss before the wait for messages, and the embeddings' backward after those are sent.
TEST(FindJobs, MessagesInsideAFusedPairLeaveSmallPartsOfItsBackwardToIt) {
  Host host;
  for (int i = 0; i < 2; ++i) host.layers(8).message();
  for (int pass = 0; pass < 2; ++pass) {
    host.backwardOf(pass, 7, 8).message().beginPass();
    for (int layer = 0; layer < 6; ++layer) {
      host.forward(2, static_cast<StringId>(1 + 2 * layer));
      host.backwardOf(pass, 6 - layer, 7 - layer);
    }
    host.forward(4, 13).message();
    host.backwardOf(pass, 0, 1).message();
  }
  for (int pass = 2; pass < 4; ++pass) host.backwardOf(pass, 0, 8).message();
  EXPECT_THAT(host.jobs(), ElementsAre("F0 0-158", "F1 170-328", "F2&B0 340-838", "F3&B1 850-1348",
                                       "B2 1360-1678", "B3 1690-2008"));
}

TEST(FindJobs, BackwardsThatAMessagePartsAreTwoWhereBothAreLong) {
  Host host;
  for (int i = 0; i < 3; ++i) host.layers(kThree).message();
  for (int layer = 0; layer < kThree; ++layer) host.turn(2, layer);
  host.message().backwardOfLayers(1).message().backwardOfLayers(0).message().backwardOfLayers(3);
  const std::vector<std::string> jobs = host.jobs();
  ASSERT_EQ(jobs.size(), 7U);
  EXPECT_EQ(jobs[3].substr(0, 6), "F3&B2 ");
  EXPECT_EQ(jobs[4].substr(0, 3), "B1 ");
  EXPECT_EQ(jobs[5].substr(0, 3), "B0 ");
  EXPECT_EQ(jobs[6].substr(0, 3), "B3 ");
}

TEST(FindJobs, ForwardThatTakesTurnsWithTwoBackwardsIsNotToldApartAndSaidSo) {
  Host host;
  for (int i = 0; i < 2; ++i) host.layers(kThree).message();
  for (int layer = 0; layer < kThree; ++layer) host.turn(0, layer);
  for (int layer = 0; layer < kThree; ++layer) {  // the rest of the same forward
    host.forward(2, static_cast<StringId>(7 + 2 * layer));
    host.backwardOf(1, kThree - 1 - layer, kThree - layer);
  }
  host.message();
  for (int layer = 6; layer-- > 0;) host.backwardOf(2, layer, layer + 1);
  EXPECT_TRUE(findJobs(host.facts()).areTurns);
  EXPECT_THAT(host.jobs(), IsEmpty());
}

// The trace ends before the backward of the last forward.
TEST(FindJobs, BackwardThatTakesTurnsWithAForwardWithoutABackwardIsNotPlaced) {
  Host host;
  host.layers(kThree).message();
  for (int pass = 0; pass < 2; ++pass) {
    for (int layer = 0; layer < kThree; ++layer) host.turn(pass, layer);
    host.message();
  }
  EXPECT_THAT(host.jobs(), ElementsAre("F0 0-58", "F1&B0 70-248"));
  EXPECT_EQ(findJobs(host.facts()).runsUnplaced, 1);
}

// The last rank of a V: of each micro-batch two forwards follow each other, and so do its
// backwards.
TEST(FindJobs, ForwardsThatAMessagePartsNowAndThenShowWhereOthersEnd) {
  Host host;
  const auto two = [&] { return &host.layers(kThree).layers(kThree).message(); };
  const auto pairs = [&](int pass) {
    for (int half = 1; half >= 0; --half) {
      for (int layer = 0; layer < kThree; ++layer) host.turn(2 * pass + half, layer);
    }
    host.message();
  };
  for (int i = 0; i < 2; ++i) two();
  for (int pass = 0; pass < 4; pass += 2) {
    host.layers(kThree).message().backwardOfLayers(2 * pass + 1);
    for (int layer = 0; layer < kThree; ++layer) host.turn(2 * pass, layer);
    host.message();
    pairs(pass + 1);
  }
  for (int pass = 4; pass < 6; ++pass) {
    host.backwardOfLayers(2 * pass + 1).backwardOfLayers(2 * pass).message();
  }
  std::vector<std::string> jobs;
  for (const std::string& job : host.jobs()) jobs.push_back(job.substr(0, job.find(' ')));
  EXPECT_THAT(jobs, ElementsAre("F0", "F1", "F2", "F3",                 //
                                "F4", "B1", "F5&B0", "F6&B3", "F7&B2",  //
                                "F8", "B5", "F9&B4", "F10&B7", "F11&B6", "B9", "B8", "B11", "B10"));
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

TEST(NumberByOrder, FusedPairHasTheMicroBatchesOfBothOfItsHalves) {
  const std::vector<FoundJob> jobs = {
      {.begin = 0, .end = 1, .kind = JobKind::kForward, .pass = 0},
      {.begin = 1, .end = 2, .kind = JobKind::kForwardBackward, .pass = 1, .backwardPass = 0},
      {.begin = 2, .end = 3, .kind = JobKind::kBackward}};
  const std::vector<JobNumbers> numbers = numberByOrder(jobs, [](Nanoseconds) { return 7; }, {});
  EXPECT_EQ(numbers[1].microBatch, 1);
  EXPECT_EQ(numbers[1].backwardMicroBatch, 0);
  EXPECT_EQ(numbers[2].microBatch, 1) << "the only forward without a backward";
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
