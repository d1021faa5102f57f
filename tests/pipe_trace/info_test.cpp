#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/pipe_trace/fixture.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class InfoCommand : public PipeTrace {
 protected:
  static ProgramRun info(std::vector<std::string> arguments, const ProgramSetting& setting = {}) {
    arguments.insert(arguments.begin(), "info");
    return run(arguments, setting);
  }

  static json infoOf(std::vector<std::string> arguments, const ProgramSetting& setting = {}) {
    arguments.emplace_back("--json");
    const ProgramRun result = info(arguments, setting);
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return json::parse(result.out);
  }

  /// Two ranks, one of which PaddlePaddle itself could have written.
  void writeHandMadeLogs() const {
    write("workerlog.0",
          "Profiler Meta: version = 1, rank = 0, world_size = 2, num_stages = 4, num_chunks = 2, "
          "clock = tsc\n"
          "Profiler Clock: time = 1000.000000, offset_ns = 0, bound_ns = 0\n"
          "Profiler Info: Job (0), type = lr, micro_batch_id = 0, job_start_time = 1000.000001, "
          "job_end_time = 1000.000002, id = 1, step = 0\n"
          "Profiler Info: Job (0), type = forward, micro_batch_id = 0, job_start_time = "
          "1000.000002, job_end_time = 1000.000004, id = 2, step = 0, stage = 0, chunk = 0\n"
          "Profiler Stream: type = send_forward, micro_batch_id = 0, start_time = 1000.000004, "
          "end_time = 1000.000006, peer = 1, job = 2, step = 0\n"
          "Profiler Counter: name = loss, time = 1000.000004, value = 0.5\n"
          "Profiler Counter: name = loss, time = 1000.000005, value = nan\n"
          "Profiler End: written = 5, dropped = 0, errors = 0, own_cost_ns = 0\n");
    write("workerlog.1",
          "Profiler Meta: version = 1, rank = 1, world_size = 2, num_stages = 4, num_chunks = 2, "
          "clock = tsc\n"
          "Profiler Clock: time = 1000.000000, offset_ns = 0, bound_ns = 70\n"
          "Profiler Info: Job (0), type = forward, micro_batch_id = 0, job_start_time = "
          "1000.000006, job_end_time = 1000.000009, id = 1, step = 0, stage = 1, chunk = 0\n"
          "some text\n"
          "Profiler Info: Job (0), type = mine, micro_batch_id = 0, job_start_time = "
          "1000.000010, job_end_time = 1000.000011, id = 2, step = 0\n"
          "Profiler Info: Job (0), type = forward, micro_batch_id = x\n"
          "Profiler End: written = 2, dropped = 0, errors = 0, own_cost_ns = 0\n");
  }
};

TEST_F(InfoCommand, EveryNumberOfHandMadeLogsIsRight) {
  writeHandMadeLogs();
  const json found = infoOf({path("")});
  EXPECT_EQ(found["format"], "job log");
  EXPECT_EQ(found["ranks"], 2);
  EXPECT_EQ(found["steps"], 1);
  EXPECT_EQ(found["jobs"], 4);
  EXPECT_EQ(found["events"], 5);
  EXPECT_EQ(found["counters"], 1);  // JSON has no number for the other
  EXPECT_EQ(found["flows"], 2);     // forward, send, forward
  EXPECT_EQ(found["begin_ns"], 1'000'000'001);
  EXPECT_EQ(found["end_ns"], 1'000'000'011);
  EXPECT_EQ(found["topology"], json({{"pp", 2}, {"dp", 1}, {"vpp", 2}}));
  EXPECT_EQ(found["clock"], json({{"source", "tsc"}, {"aligned", true}, {"bound_ns", 70}}));
  ASSERT_EQ(found["diagnostics"].size(), 1U) << found;
  const json& diagnostic = found["diagnostics"][0];
  EXPECT_EQ(diagnostic["severity"], "warning");
  EXPECT_EQ(diagnostic["file"], path("workerlog.1"));
  EXPECT_EQ(diagnostic["line"], 6);
  EXPECT_EQ(diagnostic["count"], 1);
  EXPECT_THAT(diagnostic["message"], Not(IsEmpty()));
  EXPECT_TRUE(diagnostic["advice"].is_string());
}

TEST_F(InfoCommand, KeysComeInTheDocumentedOrder) {
  const ProgramRun result = info({logs(sample()), "--json"});
  std::vector<std::string> keys;
  const auto found = nlohmann::ordered_json::parse(result.out);
  for (const auto& [key, value] : found.items()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("format", "ranks", "runs", "steps", "jobs", "events", "counters",
                                "counter_names", "flows", "begin_ns", "end_ns", "topology", "clock",
                                "diagnostics"));
}

TEST_F(InfoCommand, AllRunsOfALogAreCounted) {
  const std::string folder = logs(sample());
  EXPECT_EQ(infoOf({folder})["runs"], 1);
  for (const char* log : {"/workerlog.0", "/workerlog.1", "/workerlog.2", "/workerlog.3"}) {
    const std::string run = contents(folder + log);
    std::ofstream(folder + log, std::ios::app | std::ios::binary) << run << run;
  }
  EXPECT_EQ(infoOf({folder})["runs"], 3);
  EXPECT_EQ(infoOf({folder, "--run", "1"})["runs"], 3);
  const ProgramRun report = run({folder});
  EXPECT_THAT(report.err, HasSubstr("(ranks 0 to 3): note: it holds 3 runs"));
  EXPECT_THAT(info({folder}).out, HasSubstr("runs      3\n"));
}

TEST_F(InfoCommand, LogsThatSayNothingOfTopologyAndClockLeaveBothUnknown) {
  write("workerlog.0",
        "Profiler Info: Job (0), type = forward, micro_batch_id = 0, job_start_time = 1000.000001, "
        "job_end_time = 1000.000002\n");
  const json found = infoOf({path("workerlog.0")});
  EXPECT_EQ(found["topology"], "unknown");
  EXPECT_EQ(found["clock"], "unknown");
  EXPECT_EQ(found["steps"], 1);  // cut as PaddlePaddle's script cuts it
  const ProgramRun text = info({path("workerlog.0")});
  EXPECT_THAT(text.out, AllOf(HasSubstr("topology  unknown\n"), HasSubstr("clock     unknown\n")));
}

TEST_F(InfoCommand, InfoOfAProfileCountsAllThatWasWritten) {
  const Simulation simulation = sample(3);
  const std::string folder = logs(simulation);
  const json ofLogs = infoOf({folder});
  EXPECT_EQ(ofLogs["jobs"], 3 * 4 * 18);
  EXPECT_EQ(ofLogs["events"], 3 * (4 * 18 + 4 * 2 * 3 * 8 / 4 * 2));
  for (const char* name : {"p.json", "p.pftrace", "p.sqlite"}) {
    SCOPED_TRACE(name);
    const ProgramRun written = run({folder, "-o", path(name)});
    int jobs = 0, transfers = 0, bubbles = 0, arrows = 0;
    const std::size_t line = written.out.find("wrote ");
    ASSERT_NE(line, std::string::npos) << written.err;
    ASSERT_EQ(std::sscanf(written.out.c_str() + written.out.find(": ", line),
                          ": %d jobs, %d transfers, %d bubbles, %d arrows", &jobs, &transfers,
                          &bubbles, &arrows),
              4);
    EXPECT_GT(bubbles, 0);
    const json found = infoOf({path(name)});
    EXPECT_EQ(found["ranks"], 4);
    EXPECT_EQ(found["steps"], 3);
    EXPECT_EQ(found["jobs"], ofLogs["jobs"]);
    EXPECT_EQ(found["jobs"], jobs);
    EXPECT_EQ(found["events"], jobs + transfers + bubbles);
    EXPECT_EQ(found["flows"], ofLogs["flows"]);
    for (const char* key : {"begin_ns", "end_ns", "topology", "clock"}) {
      EXPECT_EQ(found[key], ofLogs[key]) << key;
    }
  }
  EXPECT_EQ(infoOf({path("p.json")})["format"], "Chrome JSON");
  EXPECT_EQ(infoOf({path("p.sqlite")})["format"], "SQLite database");
}

TEST_F(InfoCommand, ProfilesWithoutArrowsHaveNoFlows) {
  const std::string folder = logs(sample());
  for (const char* name : {"p.json", "p.pftrace"}) {
    run({folder, "--no-flows", "--no-bubbles", "-o", path(name)});
    const json found = infoOf({path(name)});
    EXPECT_EQ(found["flows"], 0) << name;
    EXPECT_EQ(found["events"], infoOf({folder})["events"]) << name;
  }
}

TEST_F(InfoCommand, StandardInputIsAnInput) {
  writeHandMadeLogs();
  const json found = infoOf({"-"}, {.input = contents(folder_ / "workerlog.0")});
  EXPECT_EQ(found["jobs"], 2);
  EXPECT_EQ(found["ranks"], 1);
}

TEST_F(InfoCommand, FormatsOfManyInputsAreNamedOnce) {
  writeHandMadeLogs();
  run({path("workerlog.1"), "--no-bubbles", "-o", path("one.json")});
  const json found = infoOf({path("workerlog.0"), path("workerlog.1")});
  EXPECT_EQ(found["format"], "job log");
  const json mixed = infoOf({path("workerlog.0"), path("one.json")});
  EXPECT_EQ(mixed["format"], "job log, Chrome JSON");
  EXPECT_EQ(mixed["events"], 5);
}

TEST_F(InfoCommand, FindingsMakeStrictExitWithOne) {
  writeHandMadeLogs();
  EXPECT_EQ(info({path("workerlog.0"), path("workerlog.1")}).exitCode, 0);
  const ProgramRun strict = info({path(""), "--strict", "--quiet"});
  EXPECT_EQ(strict.exitCode, 1);
  EXPECT_THAT(strict.out, Not(IsEmpty())) << "what was asked for is printed all the same";
  EXPECT_THAT(strict.err, HasSubstr("workerlog.1:6: warning: "));
  EXPECT_EQ(info({logs(sample()), "--strict"}).exitCode, 0);
}

TEST_F(InfoCommand, AnInputThatCannotBeReadExitsWithTwo) {
  expectError(info({path("none")}), "none", "");
  write("empty", "");
  expectError(info({path("empty")}), "no job in", "give a folder");
  EXPECT_EQ(info({}).exitCode, 2);
}

TEST_F(InfoCommand, PeopleReadALineForEachThing) {
  writeHandMadeLogs();
  const ProgramRun result = info({path("")});
  EXPECT_EQ(result.out,
            "format    job log\n"
            "ranks     2\n"
            "runs      1\n"
            "steps     1\n"
            "jobs      4\n"
            "events    5\n"
            "counters  1: loss\n"
            "flows     2\n"
            "time      10 ns from 1000.000001 ms since the epoch\n"
            "topology  pp 2, dp 1, vpp 2\n"
            "clock     tsc, all times in rank 0's clock, known to within 70 ns\n"
            "findings  1 warning\n");
  EXPECT_THAT(result.err, HasSubstr("workerlog.1:6: warning: "));
}

TEST_F(InfoCommand, FoldersOfItsNameAreReadWithADot) {
  const std::string folder = logs(sample(), "info");
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  const ProgramRun asFolder = run({"./info", "--json"});
  const json asCommand = infoOf({"info"});
  fs::current_path(before);
  EXPECT_EQ(asFolder.exitCode, 0) << asFolder.err;
  EXPECT_EQ(json::parse(asFolder.out)["steps"].size(), 1U);
  EXPECT_EQ(asCommand["jobs"], 4 * 18);
}

}  // namespace
}  // namespace pipetrace
