// Ranks of a session run several plans in turn, each with messages of its own.
#include "runtime/session/session.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>

#include "runtime/starting_ranks/local_port.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/listed_work.h"
#include "runtime/testing/run_ranks.h"
#include "schedule/build_schedule.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ListedWork;
using testing::Wiring;

CheckedPlan training() { return buildSchedule("1F1B", 2, 4); }
CheckedPlan forwards() { return buildSchedule("ForwardOnly", 2, 3); }  // with credits

/// Runs `body` for both ranks, in this process or as if each were one.
std::vector<std::string> onTwoRanks(Wiring wiring,
                                    const std::function<void(SessionRank& rank)>& body) {
  const LocalPort port;
  const auto run = [&](const std::optional<ProcessEnv>& env) {
    Session session({.plan = training(), .env = env});
    session.run(body);
    session.finish();
  };
  if (wiring == Wiring::kInProcess) return {testing::errorOf([&] { run(std::nullopt); })};
  return testing::runRanks(2, [&](int rank) {
    run(ProcessEnv{.rank = rank,
                   .localRank = rank,
                   .worldSize = 2,
                   .masterAddr = "127.0.0.1",
                   .masterPort = port.number(),
                   .attempt = "0"});
  });
}

/// Says what a rank gets in a step of the plan, by job.
std::map<std::string, Nanoseconds> inputsAlone(const CheckedPlan& plan, int rank) {
  std::map<std::string, Nanoseconds> inputs;
  onTwoRanks(Wiring::kInProcess, [&](SessionRank& own) {
    ListedWork& work = own.keep(std::make_unique<ListedWork>());
    own.runStep(own.add(plan, work), 0);
    if (own.rank() == rank) inputs = work.inputs_;
  });
  return inputs;
}

class SessionTest : public ::testing::TestWithParam<Wiring> {};

TEST_P(SessionTest, EachPlanGetsItsOwnMessagesWhateverRanBefore) {
  const std::map<std::string, Nanoseconds> trained = inputsAlone(training(), 1);
  const std::map<std::string, Nanoseconds> evaluated = inputsAlone(forwards(), 1);
  EXPECT_THAT(onTwoRanks(GetParam(),
                         [&](SessionRank& rank) {
                           ListedWork& first = rank.keep(std::make_unique<ListedWork>());
                           ListedWork& second = rank.keep(std::make_unique<ListedWork>());
                           const int train = rank.add(training(), first);
                           rank.runStep(train, 0);
                           const int evaluate = rank.add(forwards(), second);
                           for (int step = 0; step < 5; ++step) {
                             rank.runStep(evaluate, step);
                             rank.runStep(train, step + 1);
                             if (rank.rank() == 0) continue;
                             EXPECT_EQ(first.inputs_, trained);
                             EXPECT_EQ(second.inputs_, evaluated);
                           }
                           EXPECT_EQ(rank.stepsRun(), 11);
                         }),
              Each(IsEmpty()));
}

/// Throws at 1F2 of its third step.
class FailingWork : public ListedWork {
 public:
  void beginStep(int step) override { step_ = step; }
  Message forward(int stage, int microBatch, Message input) override {
    if (step_ == 2 && stage == 1 && microBatch == 2) throw Error("out of luck");
    return ListedWork::forward(stage, microBatch, std::move(input));
  }

 private:
  int step_ = 0;
};

// A plan that was added meanwhile has other jobs at the same places, and steps count over both.
TEST_P(SessionTest, AFailureIsNamedInTheWordsOfThePlanThatRuns) {
  const auto errors = onTwoRanks(GetParam(), [&](SessionRank& rank) {
    FailingWork& failing = rank.keep(std::make_unique<FailingWork>());
    ListedWork& other = rank.keep(std::make_unique<ListedWork>());
    const int train = rank.add(training(), failing);
    rank.runStep(train, 0);
    const int evaluate = rank.add(forwards(), other);
    rank.runStep(train, 1);
    rank.runStep(evaluate, 0);
    rank.runStep(train, 2);
  });
  EXPECT_THAT(errors,
              Each(AllOf(HasSubstr("rank 1 failed in 1F2 of step 3 ("), HasSubstr("out of luck"))));
}

TEST_P(SessionTest, AFailureInAnotherPhaseThanTrainingIsNamedWithIt) {
  const auto errors = onTwoRanks(GetParam(), [&](SessionRank& rank) {
    ListedWork& other = rank.keep(std::make_unique<ListedWork>());
    FailingWork& failing = rank.keep(std::make_unique<FailingWork>());
    const int train = rank.add(training(), other);
    const int evaluate = rank.add(forwards(), failing, Phase::kEvaluate);
    rank.runStep(train, 0);
    for (int step = 0; step < 3; ++step) rank.runStep(evaluate, step);
  });
  EXPECT_THAT(errors, Each(HasSubstr("rank 1 failed in 1F2 of step 3 of the phase evaluate (")));
}

TEST_P(SessionTest, RanksHearWhatOneOfThemSaysBetweenSteps) {
  EXPECT_THAT(
      onTwoRanks(
          GetParam(),
          [&](SessionRank& rank) {
            ListedWork& work = rank.keep(std::make_unique<ListedWork>());
            const int train = rank.add(training(), work);
            for (int step = 0; step < 3; ++step) {
              rank.runStep(train, step);
              std::vector<double> numbers;
              if (rank.rank() == 1) numbers = {0.5, static_cast<double>(step)};
              rank.hosts().broadcast(1, numbers);
              EXPECT_EQ(numbers, (std::vector<double>{0.5, static_cast<double>(step)}));
              // These tensors have other types and shapes than those before.
              const at::Tensor own = at::empty({rank.rank() + step, 2}, at::kFloat).fill_(step);
              const auto all = rank.hosts().gather({0, 1}, 0, {own, own.to(at::kLong)});
              if (rank.rank() != 0) continue;
              ASSERT_EQ(all.size(), 2U);
              EXPECT_EQ(all[1].at(0).size(0), 1 + step);
              EXPECT_TRUE(all[1].at(1).equal(at::empty({1 + step, 2}, at::kLong).fill_(step)));
            }
          }),
      Each(IsEmpty()));
}

INSTANTIATE_TEST_SUITE_P(All, SessionTest, ::testing::Values(Wiring::kInProcess, Wiring::kGloo),
                         [](const auto& test) {
                           return test.param == Wiring::kGloo ? "Gloo" : "InProcess";
                         });

}  // namespace
}  // namespace pipetrace
