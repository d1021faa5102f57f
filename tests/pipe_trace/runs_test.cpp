#include <nlohmann/json.hpp>

#include "parser/testing/kineto.h"
#include "tests/pipe_trace/fixture.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr Nanoseconds kHour = 3600 * kNsPerSecond;
constexpr Nanoseconds kBegin = test::KinetoFile::kKinetoBegin;

/// Folders of traces of PyTorch's profiler, one file for each rank.
class PipeTraceRuns : public PipeTrace {
 protected:
  void writeTrace(const std::string& name, const test::KinetoFile& file) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    write(name, test::textOf(file));
  }

  /// Both ranks have the same times, which no pipeline can have.
  static nlohmann::json summaryOf(const std::string& input) {
    const ProgramRun result = run({"--json", "--force", input});
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return nlohmann::json::parse(result.out);
  }

  /// Expects four steps of 8 ms, on both ranks alike: each has a bubble from 4 to 5 ms.
  static void expectFourStepsOf8Ms(const nlohmann::json& summary) {
    ASSERT_EQ(summary.at("steps").size(), 4U);
    for (const auto& step : summary.at("steps")) {
      EXPECT_EQ(step.at("duration_ns"), 8'000'000);
      EXPECT_DOUBLE_EQ(step.at("bubble_ratio"), 0.125);
    }
    EXPECT_DOUBLE_EQ(summary.at("bubble_ratio"), 0.125);
    EXPECT_EQ(summary.at("steps")[0].at("between_steps_ns"), 2'000'000);
    EXPECT_EQ(summary.at("steps")[1].at("between_steps_ns"), 0) << "the pause is of no step";
    EXPECT_EQ(summary.at("steps")[2].at("between_steps_ns"), 2'000'000);
  }
};

TEST_F(PipeTraceRuns, ThePauseBetweenProfilerCyclesIsOfNoStepAndNoBubble) {
  for (const int again : {0, 1, 2}) {
    for (int rank = 0; rank < 2; ++rank) {
      const std::string name = "cycles" + std::to_string(again) + "/n_" + std::to_string(rank);
      const auto first = [&](int step) {
        return again == 2 ? std::nullopt : std::optional(again == 1 ? 0 : step);
      };
      writeTrace(name + ".1.pt.trace.json", {.rank = rank, .pid = rank, .firstStep = first(3)});
      writeTrace(name + ".2.pt.trace.json",
                 {.rank = rank, .pid = rank, .begin = kBegin + kHour, .firstStep = first(9)});
    }
    const std::string folder = path("cycles" + std::to_string(again));
    const nlohmann::json summary = summaryOf(folder);
    expectFourStepsOf8Ms(summary);
    const std::vector<int> numbers[] = {{3, 4, 9, 10}, {0, 1, 2, 3}, {0, 1, 2, 3}};
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(summary.at("steps")[i].at("step"), numbers[again][i]) << folder;
    }
  }
}

TEST_F(PipeTraceRuns, AProfileOfSeveralPartsKeepsThePauseApart) {
  writeTrace("two/rank0.1.json", {.worldSize = 1});
  writeTrace("two/rank0.2.json", {.worldSize = 1, .begin = kBegin + kHour});
  for (const char* name : {"p.json", "p.pftrace", "p.sqlite"}) {
    ASSERT_EQ(run({path("two"), "-o", path(name)}).exitCode, 0);
    expectFourStepsOf8Ms(summaryOf(path(name)));
  }
}

TEST_F(PipeTraceRuns, EachCommandOfTheErrorReadsOneRunThroughTheShell) {
  for (int rank = 0; rank < 3; ++rank) {
    const std::string file = "rank" + std::to_string(rank) + ".json";
    writeTrace("all/a 'b'/" + file, {.rank = rank, .worldSize = 3, .pid = 10 + rank});
    writeTrace("all/c_" + file,
               {.rank = rank, .worldSize = 3, .pid = 20 + rank, .begin = kBegin + kHour});
    writeTrace("all/d" + std::to_string(rank) + "_" + file,
               {.rank = rank, .worldSize = 4, .pid = 30 + rank, .begin = kBegin + kHour});
  }
  writeTrace("all/d.json", {.rank = 2, .worldSize = 3, .pid = 40, .begin = kBegin + 2 * kHour});
  const ProgramRun refused = run({path("all")});
  expectError(refused, "the inputs hold 4 runs, which are not merged",
              "ranks 0 to 2 of 3 in 3 files, from 2026-03-01 11:00:00 UTC, 20.00 ms long");
  std::istringstream lines(refused.err);
  std::vector<int> ranks;
  for (std::string line; std::getline(lines, line);) {
    const std::string program = "    pipe-trace ";
    if (!line.starts_with(program)) continue;
    const std::string command = std::string("'") + test::inBuild("bin/pipe-trace") +
                                "' --json --force " + line.substr(program.size());
    const ProgramRun one = runProgram({"/bin/sh", "-c", command}, {});
    ASSERT_EQ(one.exitCode, 0) << command << one.err;
    ranks.push_back(static_cast<int>(nlohmann::json::parse(one.out).at("ranks").size()));
  }
  std::sort(ranks.begin(), ranks.end());
  EXPECT_THAT(ranks, testing::ElementsAre(1, 3, 3, 3)) << refused.err;
  EXPECT_THAT(run({"report", path("all")}).err, HasSubstr("\n    pipe-trace report "))
      << "the command that was asked for";
}

TEST_F(PipeTraceRuns, HostsWhoseClocksWereNotComparedAreNoted) {
  std::filesystem::create_directories(path("hosts"));
  for (int rank = 0; rank < 2; ++rank) {
    const std::string number = std::to_string(rank);
    write(
        std::string(rank == 0 ? "hosts/a" : "hosts/b") + "_1.5.pt.trace.json",
        R"({"schemaVersion": 1, "baseTimeNanoseconds": 1772359200000000000, "distributedInfo": {"backend": "gloo", "rank": )" +
            number +
            R"(, "world_size": 2}, "traceEvents": [{"ph": "X", "cat": "user_annotation", )" +
            R"("name": "PP:)" + number + R"(F0", "pid": 1, "tid": 1, "ts": 1)" + number +
            R"(000, "dur": 900}]})");
  }
  const ProgramRun result = run({"info", path("hosts")});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_THAT(result.err,
              HasSubstr("note: the ranks ran on 2 hosts (a, b), whose clocks were not"));
  EXPECT_THAT(run({"info", path("hosts"), "--align", "none"}).err, Not(HasSubstr("hosts")));
  writeTrace("named/rank0.json", {.rank = 0, .host = "x"});
  writeTrace("named/rank1.json", {.rank = 1, .host = "x"});
  EXPECT_THAT(run({"info", path("named")}).err, Not(HasSubstr("hosts")));
}

TEST_F(PipeTraceRuns, ALogThatBeginsMinutesLaterIsOfTheSameRun) {
  const std::string job = "Profiler Info: Job (0), type = ";
  const auto line = [&](const char* type, const char* from, const char* to) {
    return job + type + ", micro_batch_id = 0, job_start_time = " + from +
           ".000000, job_end_time = " + to + ".000000\n";
  };
  std::filesystem::create_directories(path("late"));
  write("late/workerlog.0", line("forward", "1772359200000", "1772359200010") +
                                line("backward", "1772359500000", "1772359500010"));
  write("late/workerlog.1", line("forward", "1772359450000", "1772359450010") +
                                line("backward", "1772359450020", "1772359450030"));
  EXPECT_EQ(run({"info", path("late")}).exitCode, 0);
}

}  // namespace
}  // namespace pipetrace
