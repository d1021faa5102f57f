// `pipe-trace plan` with recomputes: of an option, and of a schedule file.
#include <gmock/gmock.h>

#include "tests/pipe_trace/plan/plan_fixture.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

TEST_F(PlanCommand, StagesWhoseRecomputeTakesTimeRunTheirForwardsAgain) {
  const json all = jsonOf("1F1B", {"--recompute-ms", "1"});
  EXPECT_EQ(all.at("length_ns"), 33'000'000 + 8 * 1'000'000);
  EXPECT_EQ(all.at("closed_form").at("length_ns"), all.at("length_ns"));
  EXPECT_EQ(all.at("costs").at("recompute_ms"), 1);
  const json some = jsonOf("ZB-H1", {"--recompute-ms", "0,1,0,0"});
  for (int rank = 0; rank < 4; ++rank) {
    const std::string cells = some.at("schedule").at("actions")[rank].dump();
    EXPECT_EQ(cells.find("1R7\",\"1I7") != std::string::npos, rank == 1) << cells;
    EXPECT_EQ(cells.find('R') != std::string::npos, rank == 1) << cells;
  }
  EXPECT_EQ(some.at("closed_form"), nullptr);
  EXPECT_EQ(jsonOf("1F1B", {"--recompute-ms", "1", "--forward-only"}).at("length_ns"), 11'000'000);
  const std::string chart = planOf("1F1B", {"--recompute-ms", "1", "--width", "140"}).out;
  EXPECT_THAT(chart, AllOf(HasSubstr("R7 -- B7=="), HasSubstr("R recompute")));
  EXPECT_EQ(planOf("1F1B", {"--recompute-ms", "1", "-o", path("plan.svg")}).exitCode, 0);
  EXPECT_THAT(contents(path("plan.svg")), HasSubstr(">recompute</text>"));
}

TEST_F(PlanCommand, RecomputesOfAScheduleFileStayAndTakeTheGivenTime) {
  write("own.csv", "0F0,0F1,0B0,0R1,0B1\n1F0,1R0,1B0,1F1,1B1\n");
  const auto lengthWith = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"--schedule-file", path("own.csv"), "--json"});
    const json plan = json::parse(this->plan(more).out);
    EXPECT_EQ(plan.at("schedule").at("actions")[0].size(), 5U);
    return plan.at("length_ns").get<Nanoseconds>();
  };
  // Rank 1: F 1, R 2, B 2 + R, F 4 + R, B 5 + R to 7 + R; rank 0: B 4 + R to 6 + R, R, B.
  EXPECT_EQ(lengthWith({"--recompute-ms", "0.5"}), 9'500'000);
  EXPECT_EQ(lengthWith({"--recompute-ms", "0"}), 9'000'000);
  EXPECT_EQ(lengthWith({}), 10'000'000) << "as long as a forward";
  EXPECT_EQ(lengthWith({"--recompute-ms", "3"}), 14'000'000) << "6 + 3 + 3 + 2";
  EXPECT_EQ(lengthWith({"--recompute-ms", "0.5", "--delay", "0R1=5ms"}),
            6'500'000 + 5'500'000 + 2'000'000);
}

TEST_F(PlanCommand, RecomputedMemoryIsGivenBackByForwards) {
  const std::vector<std::string> memory = {"--activation-gb", "1", "--recomputed-gb", "0.9",
                                           "--recompute-ms",  "1", "--limit",         "1.4"};
  const json plan = jsonOf("1F1B", memory);
  // Rank s holds p - s activations, all but one of them down to a tenth.
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(plan.at("ranks")[rank].at("peak_memory_bytes"), 1'300'000'000 - rank * 100'000'000);
  }
  EXPECT_EQ(plan.at("problems"), json::array());
}

TEST_F(PlanCommand, ARunningJobsWorkingMemoryCounts) {
  const json plan = jsonOf("1F1B", {"--activation-gb", "1", "--working-gb", "0.5"});
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(plan.at("ranks")[rank].at("peak_memory_bytes"),
              4'500'000'000 - rank * std::int64_t{1'000'000'000});
  }
}

}  // namespace
}  // namespace pipetrace
