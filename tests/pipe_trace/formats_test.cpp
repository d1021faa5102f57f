#include <nlohmann/json.hpp>

#include "tests/pipe_trace/fixture.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kSqliteMagic("SQLite format 3\0", 16);

TEST_F(PipeTrace, EndingOfTheNameChoosesTheFormat) {
  const std::string folder = logs(sample());
  const ProgramRun result = run({folder, "-o", path("a.json"), "-o", path("a.pftrace"), "-o",
                                 path("a.sqlite"), "-o", path("a.csv")});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_TRUE(nlohmann::json::accept(contents(path("a.json"))));
  EXPECT_THAT(contents(path("a.pftrace")), StartsWith("\n"));  // field 1 of Trace: a packet
  EXPECT_THAT(contents(path("a.sqlite")), StartsWith(kSqliteMagic));
  const std::string csv = contents(path("a.csv"));
  EXPECT_THAT(csv, StartsWith("rank,lane,kind,"));
  for (const char* name : {"a.json", "a.pftrace", "a.sqlite", "a.csv"}) {
    EXPECT_THAT(result.out, HasSubstr("wrote " + path(name) + ": 72 jobs, 96 transfers, "));
  }
  int bubbles = -1;
  const std::string line = result.out.substr(result.out.find("a.csv: "));
  ASSERT_EQ(std::sscanf(line.c_str(), "a.csv: %*d jobs, %*d transfers, %d bubbles", &bubbles), 1);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 72 + 96 + bubbles);
}

TEST_F(PipeTrace, EveryFormatThatIsReadGivesTheSameSummaryAndTheSameProfile) {
  const std::string folder = logs(sample(3));
  const ProgramRun fromLogs = run(
      {folder, "--json", "-o", path("a.json"), "-o", path("a.pftrace"), "-o", path("a.sqlite")});
  ASSERT_EQ(fromLogs.exitCode, 0) << fromLogs.err;
  for (const char* name : {"a.pftrace", "a.sqlite"}) {
    const ProgramRun again = run({path(name), "--json", "--strict", "-o", path("b.json")});
    EXPECT_EQ(again.exitCode, 0) << again.err;
    EXPECT_EQ(again.out, fromLogs.out) << name;
    EXPECT_EQ(contents(path("b.json")), contents(path("a.json"))) << name;
  }
}

/// Rank, kind, micro-batch, begin and end of the events in a CSV, without bubbles; sorted.
std::vector<std::string> jobsInCsv(const std::string& csv) {
  std::vector<std::string> jobs;
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    if (cells[2] == "bubble") continue;
    jobs.push_back(cells[0] + " " + cells[2] + " " + cells[8] + " " + cells[4] + " " + cells[5]);
  }
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

TEST_F(PipeTrace, FilesOfPipelineLoggerReadBackHaveTheTimesOfTheLogs) {
  const std::string folder = logs(sample(2));
  const ProgramRun written = run({folder, "-o", path("a.csv"), "--pipeline-logger", path("vpipe")});
  EXPECT_EQ(written.exitCode, 0) << written.err;
  EXPECT_THAT(written.out,
              HasSubstr("wrote " + path("vpipe") + ": 336 jobs and messages of 4 ranks\n"));
  EXPECT_THAT(
      contents(path("vpipe/pipeline_rank0.json")),
      StartsWith(
          "{\"rank\":0,\"event\":\"lr_start\",\"minibatch\":0,\"time\":1697793307.213760986}\n"
          "{\"rank\":0,\"event\":\"lr_end\",\"minibatch\":0,\"time\":1697793307.213860986}\n"));
  const ProgramRun read = run({path("vpipe"), "--strict", "-q", "-o", path("b.csv")});
  EXPECT_EQ(read.exitCode, 0) << read.err;
  const std::vector<std::string> jobs = jobsInCsv(contents(path("a.csv")));
  EXPECT_EQ(jobs.size(), 336U);
  EXPECT_EQ(jobsInCsv(contents(path("b.csv"))), jobs);
}

TEST_F(PipeTrace, FilesOfPipelineLoggerMixNoRuns) {
  const std::string folder = logs(sample());
  expectError(run({folder, "--pipeline-logger", folder}), "is the input folder",
              "choose another folder");
  expectError(run({folder, "--pipeline-logger", folder + "/vpipe"}), "is in the input folder",
              "choose another folder");
  ASSERT_EQ(run({folder, "--pipeline-logger", path("vpipe")}).exitCode, 0);
  EXPECT_EQ(run({folder, "--pipeline-logger", path("vpipe")}).exitCode, 0) << "the same again";
  expectError(run({path("vpipe/pipeline_rank1.json"), "--pipeline-logger", path("vpipe")}),
              "is an input", "choose another folder");
  const std::string before = contents(path("vpipe/pipeline_rank0.json"));
  expectError(run({logs(sample(2, 2), "less"), "--pipeline-logger", path("vpipe")}),
              "pipeline_rank", "of a rank that is not written now; choose another folder");
  EXPECT_EQ(contents(path("vpipe/pipeline_rank0.json")), before);
}

TEST_F(PipeTrace, AFileOfPipelineLoggerThatWouldReplaceALogIsRefused) {
  const std::string folder = logs(sample());
  const std::string before = contents(folder + "/workerlog.0");
  std::filesystem::create_directory(path("vpipe"));
  std::filesystem::create_symlink(folder + "/workerlog.0", path("vpipe/pipeline_rank0.json"));
  expectError(run({folder, "--pipeline-logger", path("vpipe")}), path("vpipe/pipeline_rank0.json"),
              "is an input");
  EXPECT_EQ(contents(folder + "/workerlog.0"), before);
}

TEST_F(PipeTrace, FormatIsForNamesWithoutAnEnding) {
  const std::string folder = logs(sample());
  run({folder, "-q", "-o", path("a.pftrace"), "-o", path("a.csv")});
  const ProgramRun piped = run({folder, "-o", "-", "--format", "pftrace", "-o", path("b.csv")});
  EXPECT_EQ(piped.exitCode, 0) << piped.err;
  EXPECT_EQ(piped.out, contents(path("a.pftrace")));
  EXPECT_EQ(contents(path("b.csv")), contents(path("a.csv")));
  EXPECT_THAT(run({folder, "-o", "-", "--format", "sqlite"}).out, StartsWith(kSqliteMagic));
  run({folder, "-q", "-o", path("table"), "--format", "csv"});
  EXPECT_EQ(contents(path("table")), contents(path("a.csv")));
  const ProgramRun read = run({"-", "--json"}, {.input = piped.out});
  EXPECT_EQ(read.out, run({folder, "--json"}).out);
}

TEST_F(PipeTrace, EndingsCountInAnyCase) {
  const std::string folder = logs(sample());
  EXPECT_EQ(run({folder, "-q", "-o", path("A.PFTRACE"), "-o", path("a.pftrace")}).exitCode, 0);
  EXPECT_EQ(contents(path("A.PFTRACE")), contents(path("a.pftrace")));
  EXPECT_GT(contents(path("a.pftrace")).size(), 0);
}

TEST_F(PipeTrace, NamesThatMakeNoSenseAreRefused) {
  const std::string folder = logs(sample());
  expectError(run({folder, "-o", path("a.json,b.csv")}), "several outputs", "give -o for each");
  expectError(run({folder, "-o", path("z.csv"), "--format", "json"}),
              "--format json contradicts the name", "ends in .json");
  EXPECT_THAT(names(), testing::ElementsAre("my logs"));
  EXPECT_EQ(run({folder, "-q", "-o", path("a,b.csv"), "--format", "csv"}).exitCode, 0);
}

TEST_F(PipeTrace, UnknownFormatIsAnError) {
  expectError(run({path("not even there"), "-o", "-", "--format", "xml"}), "xml", "pftrace");
  expectError(run({path("not even there"), "-o", "", "--format", "csv"}), "\"\"", "NAME.csv");
}

TEST_F(PipeTrace, WhenOneFormatFailsNoneAppears) {
  const std::string folder = logs(sample());
  expectError(
      run({folder, "-o", path("a.pftrace"), "-o", path("a.csv"), "-o", path("no folder/b.sqlite")}),
      path("no folder/b.sqlite"), "create its folder");
  EXPECT_EQ(names(), std::vector<std::string>{"my logs"});
}

TEST_F(PipeTrace, FlowsAndBubblesAreLeftOutOfEveryFormat) {
  const std::string folder = logs(sample());
  const ProgramRun result = run({folder, "--no-flows", "--no-bubbles", "-o", path("a.pftrace"),
                                 "-o", path("a.sqlite"), "-o", path("a.csv")});
  for (const char* name : {"a.pftrace", "a.sqlite", "a.csv"}) {
    EXPECT_THAT(result.out, HasSubstr(path(name) + ": 72 jobs, 96 transfers, 0 bubbles, 0 arrows"));
  }
  EXPECT_THAT(run({folder, "-o", path("b.pftrace")}).out, Not(HasSubstr(" 0 arrows")));
}

TEST_F(PipeTrace, NumberOfThreadsChangesNothing) {
  const std::string folder = logs(sample(20));
  const ProgramRun one = run({folder, "--threads", "1", "-o", "-"});
  EXPECT_EQ(one.exitCode, 0) << one.err;
  for (const char* threads : {"0", "2", "7"}) {
    EXPECT_EQ(run({folder, "--threads", threads, "-o", "-"}).out, one.out) << threads;
  }
  EXPECT_EQ(run({folder, "--threads", "-1"}).exitCode, 2);
  EXPECT_EQ(run({folder, "--threads", "many"}).exitCode, 2);
}

TEST_F(PipeTrace, OtherEventsAreNotCountedAsTransfers) {
  write("workerlog.0",
        "Profiler Info: Job (0), type = forward, micro_batch_id = 0, job_start_time = 1000.000002, "
        "job_end_time = 1000.000004, id = 2, step = 0\n"
        "Profiler Stream: type = send_forward, start_time = 1000.1, end_time = 1000.2\n"
        "Profiler Stream: type = all_reduce, start_time = 1000.2, end_time = 1000.3\n"
        "Profiler Stream: type = copy, start_time = 1000.2, end_time = 1000.3\n"
        "Profiler Stream: type = housekeeping, start_time = 1000.2, end_time = 1000.3\n"
        "Profiler Kernel: name = gemm, start_time = 1000.1, end_time = 1000.2\n");
  for (const char* name : {"a.json", "a.pftrace", "a.sqlite", "a.csv"}) {
    EXPECT_THAT(run({path("workerlog.0"), "--no-bubbles", "-o", path(name)}).out,
                HasSubstr(": 1 jobs, 3 transfers, 2 other events, 0 bubbles, "));
  }
}

}  // namespace
}  // namespace pipetrace
