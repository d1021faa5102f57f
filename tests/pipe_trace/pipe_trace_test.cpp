#include <nlohmann/json.hpp>

#include "tests/pipe_trace/fixture.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// The slices of a Chrome profile, and how many are bubbles.
struct Slices {
  std::size_t all = 0;
  std::size_t bubbles = 0;
};

Slices slicesOf(const json& profile) {
  Slices slices;
  for (const json& event : profile.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    ++slices.all;
    slices.bubbles += event.at("name").get<std::string>().starts_with("bubble");
  }
  return slices;
}

TEST_F(PipeTrace, LogsBecomeAProfileAndASummary) {
  const ProgramRun result = run({logs(sample()), "-o", path("my profile.json")});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out, StartsWith("4 ranks, 1 step, schedule 1F1B, 8 micro-batches\n"));
  EXPECT_THAT(result.out, HasSubstr("\n     3  240.0 ms  "));

  int jobs = 0;
  int transfers = 0;
  int bubbles = 0;
  int arrows = 0;
  int counters = -1;
  const std::string line = result.out.substr(result.out.find("wrote "));
  ASSERT_EQ(std::sscanf(line.c_str() + std::string("wrote " + path("my profile.json")).size(),
                        ": %d jobs, %d transfers, %d bubbles, %d arrows, %d counter samples", &jobs,
                        &transfers, &bubbles, &arrows, &counters),
            5)
      << line;
  EXPECT_EQ(jobs, 72);
  EXPECT_EQ(transfers, 2 * 48);
  EXPECT_GT(arrows, 0);
  EXPECT_EQ(counters, 0);
  const Slices slices = slicesOf(json::parse(contents(path("my profile.json"))));
  EXPECT_EQ(slices.all, static_cast<std::size_t>(jobs + transfers + bubbles));
  EXPECT_EQ(slices.bubbles, static_cast<std::size_t>(bubbles));
}

TEST_F(PipeTrace, ProfileReadsBackToTheSameSummaryAndTheSameProfile) {
  const std::string folder = logs(sample(3));
  const ProgramRun fromLogs = run({folder, "--json", "-o", path("first.json")});
  const ProgramRun fromProfile = run({path("first.json"), "--json", "-o", path("second.json")});
  EXPECT_EQ(fromProfile.exitCode, 0);
  EXPECT_EQ(fromLogs.out, fromProfile.out);
  EXPECT_EQ(contents(path("first.json")), contents(path("second.json")));
}

TEST_F(PipeTrace, JsonSummaryHasThePlansTimesToTheNanosecond) {
  const ProgramRun result = run({logs(sample(2)), "--json"});
  const json summary = json::parse(result.out);
  for (const json& rank : summary.at("ranks")) EXPECT_EQ(rank.at("busy_ns"), 480'000'000);
  const json& step = summary.at("steps")[0];
  for (const json& rank : step.at("ranks")) {
    EXPECT_EQ(rank.at("busy_ns").get<Nanoseconds>() + rank.at("idle_ns").get<Nanoseconds>(),
              step.at("window_ns").get<Nanoseconds>());
  }
}

TEST_F(PipeTrace, DashIsStandardOutputAndTheRestGoesToStandardError) {
  const std::string folder = logs(sample());
  const ProgramRun result = run({folder, "-o", "-"});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_GT(slicesOf(json::parse(result.out)).all, 100U);
  EXPECT_THAT(result.err, StartsWith("wrote -: 72 jobs, 96 transfers, "));
}

TEST_F(PipeTrace, DevStdoutIsStandardOutput) {
  const std::string folder = logs(sample());
  const ProgramRun result = run({folder, "-o", "/dev/stdout"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_EQ(result.out, run({folder, "-o", "-"}).out);
}

TEST_F(PipeTrace, DashIsStandardInput) {
  const std::string text = contents(logs(sample()) + "/workerlog.2");
  const ProgramRun result = run({"-", "--json"}, {.input = text});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_EQ(json::parse(result.out).at("ranks")[0].at("rank"), 2);
}

TEST_F(PipeTrace, LogsOfAllRanksThroughOnePipeAreTheRun) {
  const std::string folder = logs(sample());
  std::string all;
  for (int rank = 0; rank < 4; ++rank) {
    all += contents(folder + "/workerlog." + std::to_string(rank));
  }
  const ProgramRun piped = run({"-", "--json", "--strict"}, {.input = all});
  EXPECT_EQ(piped.exitCode, 0) << piped.err;
  EXPECT_EQ(piped.out, run({folder, "--json"}).out);
}

TEST_F(PipeTrace, BubblesAndFlowsCanBeLeftOut) {
  const std::string folder = logs(sample());
  const ProgramRun bare =
      run({folder, "--no-bubbles", "--no-flows", "-o", path("bare.json"), "-q"});
  EXPECT_EQ(bare.exitCode, 0);
  const json profile = json::parse(contents(path("bare.json")));
  EXPECT_EQ(slicesOf(profile).bubbles, 0U);
  EXPECT_EQ(slicesOf(profile).all, 72U + 96U);
  EXPECT_THAT(contents(path("bare.json")), Not(HasSubstr("\"ph\":\"s\"")));

  run({folder, "-o", path("full.json")});
  EXPECT_GT(slicesOf(json::parse(contents(path("full.json")))).bubbles, 0U);
  EXPECT_THAT(contents(path("full.json")), HasSubstr("\"ph\":\"s\""));
  // Also those that a profile already had.
  run({path("full.json"), "--no-bubbles", "-o", path("again.json")});
  EXPECT_EQ(slicesOf(json::parse(contents(path("again.json")))).bubbles, 0U);
}

TEST_F(PipeTrace, SeveralOutputsAreTheSameProfile) {
  const ProgramRun result = run({logs(sample()), "-o", path("a.json"), "-o", path("b.json")});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_EQ(contents(path("a.json")), contents(path("b.json")));
  EXPECT_THAT(result.out, AllOf(HasSubstr("wrote " + path("a.json") + ":"),
                                HasSubstr("wrote " + path("b.json") + ":")));
}

TEST_F(PipeTrace, RunsOfOneLogAreChosenByNumber) {
  const std::string folder = logs(sample(1));
  writeJobLogs(sample(2).timeline, folder);  // appended: a second run in the same files
  const auto steps = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {folder, "--json"});
    return json::parse(run(arguments).out).at("steps").size();
  };
  EXPECT_EQ(steps({}), 2U);
  EXPECT_EQ(steps({"--run", "0"}), 1U);
  EXPECT_EQ(steps({"--run", "1"}), 2U);
  expectError(run({folder, "--run", "2"}), "2 runs", "counted from 0");
  EXPECT_EQ(run({folder, "--run", "-1"}).exitCode, 2);
}

TEST_F(PipeTrace, QuietHidesNotesAndNeitherWarningsNorTheSummary) {
  const std::string folder = logs(sample());
  std::ofstream(folder + "/workerlog.0", std::ios::app) << "Profiler Info: Job (1), type = forw";
  const ProgramRun result = run({folder, "-q", "-o", path("a.json")});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, HasSubstr("warning: the last line is cut off"));
  EXPECT_THAT(result.err, Not(HasSubstr("note:")));
  const ProgramRun strict = run({folder, "-q", "--strict"});
  EXPECT_EQ(strict.exitCode, 1);
  EXPECT_THAT(strict.out, HasSubstr("bubble ratio"));
  EXPECT_THAT(strict.err, HasSubstr("the last line is cut off"));
  EXPECT_EQ(run({path("missing"), "-q"}).exitCode, 2);
  EXPECT_THAT(run({path("missing"), "-q"}).err, HasSubstr("missing"));
}

TEST_F(PipeTrace, HelpAndVersionGoToStandardOutput) {
  const ProgramRun help = run({"--help"});
  EXPECT_EQ(help.exitCode, 0);
  for (const char* word : {"INPUT", "--output", "--json", "--no-bubbles", "--no-flows", "--strict",
                           "--quiet", "--run", "--version", "--format", "--threads", "--devices",
                           "--log_dir", "--multi_machine", "--paddle-style", "Exit codes"}) {
    EXPECT_THAT(help.out, HasSubstr(word));
  }
  EXPECT_THAT(help.err, IsEmpty());
  const ProgramRun version = run({"--version"});
  EXPECT_EQ(version.exitCode, 0);
  EXPECT_THAT(version.out, StartsWith("pipe-trace "));
}

}  // namespace
}  // namespace pipetrace
