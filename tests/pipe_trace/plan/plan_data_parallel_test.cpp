// Cells of data parallelism in pipe-trace plan, and plans for torch.
#include "tests/pipe_trace/plan/plan_fixture.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

const char* const kWith =
    "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0REDUCE_GRAD,0RESHARD\n"
    "1UNSHARD,1RECV_F0,1F0,1B0,1SEND_B0,1RESHARD,1UNSHARD1,1RECV_F1,1F1,1B1,1SEND_B1,1REDUCE_GRAD,"
    "1RESHARD\n";
const char* const kWithout =
    "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
    "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n";

class PlanDataParallel : public PlanCommand {
 protected:
  /// A file of that text, and the options to plan it.
  std::vector<std::string> fileOf(const char* cells, std::vector<std::string> more = {}) const {
    write("mine.csv", std::string("# name = mine\n") + cells);
    more.insert(more.begin(), {"--schedule-file", path("mine.csv")});
    return more;
  }
};

TEST_F(PlanDataParallel, CellsAreWrittenWhereTheyWere) {
  const ProgramRun result = plan(fileOf(kWith, {"--csv", "-"}));
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_EQ(result.out, kWith);
}

TEST_F(PlanDataParallel, CellsWithoutATimeChangeNoResult) {
  const auto resultsOf = [&](const char* cells) {
    const std::vector<std::string> times = {"--transfer-ms",  "0.5", "--lr-ms", "0.1",
                                            "--optimizer-ms", "1",   "--steps", "2"};
    std::vector<std::string> files = times;
    for (const char* name : {"plan.svg", "plan.json", "plan.pftrace", "logs/"}) {
      files.insert(files.end(), {"-o", path(name)});
    }
    const ProgramRun chart = plan(fileOf(cells, files));
    EXPECT_EQ(chart.exitCode, 0) << chart.err;
    std::vector<std::string> results = {chart.out};
    for (const char* name :
         {"plan.svg", "plan.json", "plan.pftrace", "logs/workerlog.0", "logs/workerlog.1"}) {
      results.push_back(contents(path(name)));
      EXPECT_NE(results.back(), "") << name;
    }
    for (const char* other : {"--check", "--job-list"}) {
      results.push_back(plan(fileOf(cells, {other})).out);
    }
    std::vector<std::string> asJson = times;
    asJson.emplace_back("--json");
    json figures = json::parse(plan(fileOf(cells, asJson)).out);
    figures.at("schedule").erase("actions");
    results.push_back(figures.dump());
    return results;
  };
  EXPECT_EQ(resultsOf(kWith), resultsOf(kWithout));
}

TEST_F(PlanDataParallel, ATimeInTheCostsFileMakesJobs) {
  write("costs.json",
        R"({"jobs_ms": {"0UNSHARD": 3, "1UNSHARD1": 5, "0REDUCE_GRAD": 2, "1RESHARD": 0}})");
  const ProgramRun result =
      plan(fileOf(kWith, {"--costs", path("costs.json"), "--json", "-o", path("logs/")}));
  ASSERT_EQ(result.exitCode, 0) << result.err;
  const json figures = json::parse(result.out);
  // Rank 1 has 1F0 at 4 ms, 1B0 at 5, 1UNSHARD1 at 7, 1F1 at 12 and 1B1 at 13.
  EXPECT_EQ(figures.at("length_ns"), 19'000'000);
  EXPECT_EQ(figures.at("ranks")[0].at("busy_ns"), 6'000'000);
  std::vector<std::string> path;
  for (const json& link : figures.at("critical_path")) path.push_back(link.at("action"));
  EXPECT_THAT(path, ElementsAre("0UNSHARD", "0F0", "1F0", "1B0", "1UNSHARD1", "1F1", "1B1", "0B1",
                                "0REDUCE_GRAD"));
  EXPECT_THAT(contents(this->path("logs/workerlog.0")),
              HasSubstr("type = all_gather, micro_batch_id = 0, job_start_time = 1.000000, "
                        "job_end_time = 4.000000, id = 0, step = 0, stage = 0, chunk = 0, action = "
                        "0UNSHARD"));
  EXPECT_THAT(contents(this->path("logs/workerlog.1")), Not(HasSubstr("RESHARD")));
}

TEST_F(PlanDataParallel, ForTorchThePlanHasRowsOnlyAndReducesEachStagesGradients) {
  const ProgramRun result =
      planOf("ZBV", {"--transfers", "1", "--credits", "0", "--csv", "-", "--for", "torch"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.out, Not(HasSubstr("#")));
  for (int stage = 0; stage < 8; ++stage) {
    const std::string cell = "," + std::to_string(stage) + "REDUCE_GRAD";
    const std::size_t at = result.out.find(cell);
    ASSERT_NE(at, std::string::npos) << cell;
    EXPECT_EQ(result.out.find(cell, at + 1), std::string::npos) << cell;
    EXPECT_THAT(result.out.substr(0, at), EndsWith(std::to_string(stage) + "W7"));
  }
  EXPECT_THAT(result.err, HasSubstr("this plan deadlocks; with --transfers in-time it does not"));
  const ProgramRun inTime =
      planOf("ZBV", {"--transfers", "in-time", "--csv", "-", "--for", "torch"});
  EXPECT_EQ(inTime.err, "");
  const ProgramRun own = plan(fileOf(kWith, {"--csv", "-", "--for", "torch"}));
  EXPECT_EQ(own.out, kWith) << own.err;
}

TEST_F(PlanDataParallel, PlansThatTorchDoesNotRunAreRefused) {
  const auto refusal = [&](const std::string& name, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--csv", path("torch.csv"), "--for", "torch"});
    const ProgramRun result = planOf(name, more);
    EXPECT_EQ(result.exitCode, 2) << name;
    EXPECT_EQ(contents(path("torch.csv")), "") << name;
    return result.err;
  };
  EXPECT_THAT(refusal("1F1B"), HasSubstr("no sends and receives, which torch wants in the file; "
                                         "add them with --transfers in-time"));
  EXPECT_THAT(refusal("1F1B", {"--transfers", "1", "--recompute-ms", "1"}),
              HasSubstr("torch has no recompute like 0R0 (rank 0, cell "));
  EXPECT_THAT(refusal("DualPipe", {"--transfers", "1"}), HasSubstr("on several ranks"));
  EXPECT_THAT(refusal("PipeDream", {"--transfers", "1"}), HasSubstr("it is asynchronous"));
}

TEST_F(PlanDataParallel, ForNamesAProgramAndNeedsAFile) {
  const ProgramRun unknown = planOf("1F1B", {"--csv", "-", "--for", "megatron"});
  EXPECT_EQ(unknown.exitCode, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--for megatron: it is torch"));
  const ProgramRun alone = planOf("1F1B", {"--for", "torch"});
  EXPECT_EQ(alone.exitCode, 2);
  EXPECT_THAT(alone.err, HasSubstr("--for requires --csv"));
}

}  // namespace
}  // namespace pipetrace
