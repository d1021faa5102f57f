// Whole schedule files: headers, round trips, and what must be refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/testing/plan_texts.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using test::errorOf;
using test::problemsOf;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

void expectSame(const Plan& read, const Plan& written) {
  EXPECT_EQ(read.ranks, written.ranks);
  EXPECT_EQ(read.numStages, written.numStages);
  EXPECT_EQ(read.numMicroBatches, written.numMicroBatches);
  EXPECT_EQ(read.placement, written.placement);
  EXPECT_EQ(read.replicas, written.replicas);
  EXPECT_EQ(read.updates, written.updates);
}

TEST(ScheduleFile, EveryBuildersPlanReadsBackAsItIs) {
  for (const std::string& name : scheduleNames()) {
    for (const auto& [p, m] : {std::pair{1, 1}, {2, 1}, {2, 5}, {4, 3}, {4, 8}, {5, 7}}) {
      SCOPED_TRACE(name + " " + std::to_string(p) + " " + std::to_string(m));
      const Plan plan = buildSchedule(name, p, m);
      const std::string text = toCsv(plan);
      const Plan read = readPlan(text, plan.name);
      expectSame(read, plan);
      EXPECT_EQ(read.name, plan.name);
      EXPECT_EQ(toCsv(read), text);
      if (text.starts_with('#')) {
        EXPECT_EQ(readPlan(text, "other").name, plan.name);
      }
      expectSame(readPlan(toCsv(addTransfers(CheckedPlan(plan))), plan.name),
                 addTransfers(CheckedPlan(plan)));
    }
  }
}

TEST(ScheduleFile, HeaderIsWrittenOnlyWhereTheCellsCannotSayIt) {
  EXPECT_THAT(toCsv(buildSchedule("1F1B", 2, 2)), StartsWith("0F0"));
  EXPECT_THAT(toCsv(buildSchedule("DualPipe", 4, 8)), StartsWith("0F0"));
  EXPECT_THAT(toCsv(buildSchedule("PipeDream", 2, 2)),
              StartsWith("# name = PipeDream, update_every = 1, double_buffered = 0\n0F0"));
  Plan plan = readPlan("0F0,0B0\n1F0,1B0\n", "a, \"b\" \\ c");
  plan.updates = WeightUpdates::alike(2, 3, true);
  EXPECT_THAT(toCsv(plan), StartsWith("# name = \"a, \\\"b\\\" \\\\ c\", update_every = 3, "
                                      "double_buffered = 1\n"));
  EXPECT_EQ(readPlan(toCsv(plan), "").name, plan.name);
}

TEST(ScheduleFile, NameThatWouldEndItsLineIsReadAsItIsWritten) {
  for (const std::string name : {"a\rb", "\"a\rb\"", "\"\ra\r\""}) {
    const Plan plan = readPlan("# name = " + name + ", update_every = 2\n0F0,0B0\n", "file");
    const Plan again = readPlan(toCsv(plan), "file");
    EXPECT_EQ(again.name, plan.name);
    EXPECT_EQ(toCsv(again), toCsv(plan));
  }
}

TEST(ScheduleFile, CommentsAreNoRanks) {
  const Plan plan = readPlan(
      "# made by hand, x = 1\n0F0,0B0\n#\n#update_every=2 , name = mine\n1F0,1B0\n# end\n\n",
      "plan.csv");
  EXPECT_EQ(plan.numRanks(), 2);
  EXPECT_EQ(plan.name, "mine");
  EXPECT_EQ(plan.updates, WeightUpdates::alike(2, 2));
}

TEST(ScheduleFile, CommentCanPlaceStages) {
  const Plan plan = readPlan(
      "0F0,0B0\n1F0,1B0\n# rank_of_stage = 0 1, rank_of_stage_reversed = 1 0, first_reversed = 1\n",
      "plan.csv");
  EXPECT_TRUE(plan.isBidirectional());
  EXPECT_EQ(plan.placement.run, 1);
  EXPECT_TRUE(check(plan).empty());
}

TEST(ScheduleFile, StagesMayChangeTheirWeightsAfterDifferentNumbers) {
  const Plan plan = readPlan("# update_every = 2,1\n0F0,0B0\n1F0,1B0\n", "plan.csv");
  EXPECT_THAT(plan.updates.every, testing::ElementsAre(2, 1));
  expectSame(readPlan(toCsv(plan), "again"), plan);
  EXPECT_FALSE(readPlan("# update_every = 0\n0F0,0B0\n", "plan.csv").isAsynchronous());
  EXPECT_THAT(errorOf("# update_every = 1,1\n0F0,0B0\n"),
              HasSubstr("update_every for 2 stages, and the plan has 1"));
}

TEST(ScheduleFile, BadCommentsAreErrorsWithTheirLine) {
  for (const char* comment :
       {"update_every = x", "update_every = -1", "update_every = 99999999", "update_every = 1,0",
        "update_every = 1,", "update_every = 1,2,x", "double_buffered = 2", "rank_of_stage = 0,1",
        "rank_of_stage = 0 a", "first_reversed =", "name = \"open", "name = a, updates = 2",
        "name = \"a\" b"}) {
    EXPECT_THAT(errorOf(std::string("0F0,0B0\n# ") + comment + "\n"), StartsWith("plan.csv:2:1: "))
        << comment;
  }
  EXPECT_THAT(errorOf("# rank_of_stage = 0 1\n0F0,0B0\n"),
              AllOf(StartsWith("plan.csv:1:1: "), HasSubstr("2 stages, and the plan has 1")));
  EXPECT_THAT(errorOf("# rank_of_stage = 1\n0F0,0B0\n"), HasSubstr("rank 1, and the plan has 1"));
}

TEST(ScheduleFile, AHeaderWithoutARankIsTheOnlyProblem) {
  const std::string rows = "0F0,0F2,0B0,0B2\n0F1,0B1\n1F0,1B0,1F1,1B1,1F2,1B2\n";
  const std::string missing = "# ranks_of_stage = 0/2\n" + rows;
  EXPECT_EQ(errorOf(missing),
            "plan.csv:1:1: the header leaves out rank 1, whose row has actions of stage 0; give "
            "that stage this rank, too");
  EXPECT_EQ(check(readReadable(missing, "plan.csv")).size(), 1U);
  EXPECT_EQ(check(readReadable("# ranks_of_stage = 0,3/2\n" + rows, "plan.csv")).size(), 1U);
  EXPECT_TRUE(check(readReadable("# ranks_of_stage = 0,1/2\n" + rows, "plan.csv")).empty());
}

TEST(ScheduleFile, HeaderSaysHowManyRanksAndMicroBatchesThereShouldBe) {
  const std::string plan = "0F0,0B0\n1F0,1B0\n";
  EXPECT_THAT(problemsOf("# ranks = 2, micro_batches = 1\n" + plan), testing::IsEmpty());
  EXPECT_EQ(errorOf("# ranks = 3\n" + plan),
            "plan.csv:1:1: rank 2 is missing: the header says ranks = 3, and the file has 2");
  EXPECT_THAT(errorOf("# ranks = 1\n" + plan), HasSubstr("says ranks = 1, and the file has 2"));
  EXPECT_THAT(problemsOf("# micro_batches = 2\n" + plan),
              testing::ElementsAre("micro-batch 1 is missing: no rank has any work of it"));
  EXPECT_THAT(errorOf("# micro_batches = 0\n" + plan), HasSubstr("no value of micro_batches"));
  const Plan read = readPlan("# micro_batches = 2\n" + plan, "plan.csv");
  EXPECT_EQ(readPlan(toCsv(read), "plan.csv").numMicroBatches, 2);
}

TEST(ScheduleFile, RestOfAFileWithAnUnreadableCellIsCheckedToo) {
  const ReadablePlan file = readReadable("0F0,0F0,0F0x,0B0\n1F0\n", "plan.csv");
  ASSERT_EQ(file.problems.size(), 1U);
  EXPECT_EQ(file.problems[0].line, 1);
  EXPECT_EQ(file.problems[0].column, 9);
  std::vector<std::string> texts;
  for (const Problem& problem : check(file)) texts.push_back(toText(problem));
  EXPECT_THAT(texts,
              testing::ElementsAre(StartsWith("rank 0, cell 2: \"0F0x\" is no action"),
                                   "rank 0, cell 1: 0F0 is done already by rank 0, cell 0 (0F0)",
                                   "rank 1: 1B0 is missing"));
  EXPECT_TRUE(check(readReadable("0F0,0B0\n", "plan.csv")).empty());
  EXPECT_EQ(check(readReadable("x\n", "plan.csv")).size(), 1U);
}

TEST(ScheduleFile, DuplicateIsNamedWithRankAndCell) {
  EXPECT_THAT(problemsOf("0F0,0F0,0B0\n"),
              testing::Contains(HasSubstr("rank 0, cell 1: 0F0 is done already")));
}

TEST(ScheduleFile, WorkOutOfRangeIsNamedWithRankAndCell) {
  EXPECT_THAT(problemsOf("0F0,0B0\n1F0,1F1,1B0\n"),
              testing::ElementsAre("rank 1, cell 1: 1F1 is out of range: no other stage has "
                                   "micro-batch 1"));
  // A number that is larger than any plan's is refused at once.
  EXPECT_THAT(errorOf("0F0,0B0\n1F0,1F10000000,1B0\n"), StartsWith("plan.csv:2:5: rank 1, cell 1"));
}

TEST(ScheduleFile, TrailingTextAndNegativeMicroBatchesAreNamedWithRankAndCell) {
  EXPECT_THAT(errorOf("0F0,0B0\n1F0,0F0garbage,1B0\n"),
              StartsWith("plan.csv:2:5: rank 1, cell 1: \"0F0garbage\" is no action"));
  EXPECT_THAT(errorOf("0F0,,0F-1\n"), StartsWith("plan.csv:1:6: rank 0, cell 1: \"0F-1\""));
}

TEST(ScheduleFile, ReceiveWithoutASendBeforeItIsNamedWithRankAndCell) {
  EXPECT_THAT(problemsOf("0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n"),
              testing::ElementsAre("rank 1, cell 0: 1RECV_F0 has no send: 0SEND_F0 is missing"));
  // Two receives, posted against the order in which rank 0 sends.
  EXPECT_THAT(problemsOf("0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                         "1RECV_F1,1RECV_F0,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n"),
              testing::ElementsAre("rank 1, cell 0: 1RECV_F1 is out of order: message 0 from rank "
                                   "0 is sent by 0SEND_F0 (rank 0, cell 1)"));
}

TEST(ScheduleFile, MissingRankIsNamed) {
  EXPECT_THAT(errorOf("0F0,0B0\n\n2F0,2B0\n"), StartsWith("plan.csv:2:1: rank 1: a rank without"));
  EXPECT_THAT(problemsOf("0F0,0B0\n2F0,2B0\n"),
              testing::ElementsAre("rank 1 is missing: no rank has stage 1"));
  // The last rank is missing, which shows only in its neighbour's messages.
  EXPECT_THAT(problemsOf("0F0,0SEND_F0,0RECV_B0,0B0\n"),
              testing::ElementsAre(HasSubstr("rank 0, cell 1: 0SEND_F0 has no message to move"),
                                   HasSubstr("rank 0, cell 2: 0RECV_B0 has no message to move")));
}

class ScheduleFileOnDisk : public testing::Test {
 protected:
  ~ScheduleFileOnDisk() override { std::filesystem::remove(path_); }
  std::string errorOfFile(const std::string& path) const {
    try {
      readScheduleFile(path);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  const std::string path_ =
      testing::TempDir() + "schedule file " + std::to_string(getpid()) + ".csv";
};

TEST_F(ScheduleFileOnDisk, APlanIsNamedAfterThePathOfItsFile) {
  std::ofstream(path_) << "0F0,0B0\n";
  EXPECT_EQ(readScheduleFile(path_).name, path_);
  EXPECT_EQ(readScheduleFile(path_).ranks[0].size(), 2U);
}

TEST_F(ScheduleFileOnDisk, AFileOfAGigabyteIsRefused) {
  std::ofstream(path_) << "0F0,0B0\n";
  std::filesystem::resize_file(path_, std::uintmax_t{1} << 30);  // sparse
  EXPECT_THAT(errorOfFile(path_), AllOf(HasSubstr(path_), HasSubstr("larger than 64 MiB")));
}

TEST_F(ScheduleFileOnDisk, EndlessPipeIsRefused) {
  EXPECT_THAT(errorOfFile("/dev/zero"), HasSubstr("larger than 64 MiB"));
}

TEST_F(ScheduleFileOnDisk, EmptyAndMissingFilesAndFoldersAreErrors) {
  std::ofstream(path_).flush();
  EXPECT_THAT(errorOfFile(path_), HasSubstr("no actions"));
  EXPECT_THAT(errorOfFile(path_ + ".gone"), HasSubstr("No such file"));
  EXPECT_THAT(errorOfFile(testing::TempDir()), HasSubstr("folder"));
}

TEST(ScheduleText, AnyPlanReadsBack) {
  std::mt19937 random(11);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  constexpr JobKind kKinds[] = {
      JobKind::kForward,        JobKind::kBackward,     JobKind::kBackwardInput,
      JobKind::kBackwardWeight, JobKind::kSendForward,  JobKind::kRecvForward,
      JobKind::kSendBackward,   JobKind::kRecvBackward, JobKind::kForwardBackward};
  for (int round = 0; round < 500; ++round) {
    // Plans of millions of stages take long to place.
    const int mostStages = round % 125 == 0 ? 10'000'000 : 1000;
    Plan plan;
    plan.ranks.resize(static_cast<std::size_t>(1 + below(4)));
    for (auto& actions : plan.ranks) {
      for (int n = 1 + below(12); n > 0; --n) {
        Action action{kKinds[below(9)], below(1 + below(mostStages)), below(1 + below(50))};
        if (action.kind == JobKind::kForwardBackward) {
          action.backwardStage = below(9);
          action.backwardMicroBatch = below(99);
        }
        actions.push_back(action);
      }
    }
    ASSERT_EQ(readPlan(toCsv(plan), "plan.csv").ranks, plan.ranks) << toCsv(plan);
  }
}

}  // namespace
}  // namespace pipetrace
