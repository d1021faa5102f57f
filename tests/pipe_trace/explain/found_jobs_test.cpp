// Traces of trainings in which nobody annotated a job, as users see them. Simulated plans are the
// truth.
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "schedule/action.h"
#include "tests/pipe_trace/explain/made_training.h"
#include "tests/pipe_trace/explain/slow_run_fixture.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class FoundJobs : public SlowRuns {
 protected:
  static Simulation training(const char* schedule, int ranks, int microBatches, int chunks = 1) {
    Costs costs = Costs::equal(ranks * chunks, {10 * kNsPerMs, 20 * kNsPerMs});
    for (StageCosts& stage : costs.stages) {
      stage.backwardInput = 11 * kNsPerMs;
      stage.backwardWeight = 9 * kNsPerMs;
    }
    costs.transfer = kNsPerMs / 10;
    costs.optimizer = 2 * kNsPerMs;
    return simulate(buildSchedule(schedule, ranks, microBatches, chunks), costs,
                    {.steps = 2, .begin = kBegin, .stepsStartTogether = true});
  }

  std::string recorded(const Simulation& run, const test::TrainingShape& shape) const {
    std::filesystem::create_directories(path("traces"));
    test::MadeTraining made(run, shape);
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
      write("traces/rank" + std::to_string(rank) + ".json", made.textOf(static_cast<int>(rank)));
    }
    return path("traces");
  }

  /// The kind of a job; of a fused pair both halves.
  static std::string nameOf(const Simulation& run, const Event& job) {
    const auto pair = fusedPairOf(run.timeline, job);
    if (!pair) return std::string(logName(job.kind));
    return toText(Action{JobKind::kForwardBackward, pair->forwardStage, pair->forwardMicroBatch,
                         pair->backwardStage, pair->backwardMicroBatch});
  }

  /// Kind, stage, micro-batch and step of each job of a rank, with its times in microseconds.
  using Jobs = std::map<std::tuple<std::string, int, int, int>, std::pair<double, double>>;

  /// The jobs of the profile that pipe-trace makes of the traces, by rank.
  std::map<int, Jobs> readJobs(const std::string& traces) const {
    const ProgramRun result = run({traces, "-o", path("profile.json"), "-q"});
    EXPECT_EQ(result.exitCode, 0) << result.err;
    const json profile = json::parse(contents(path("profile.json")));
    const double origin =
        std::stod(profile["otherData"]["pipetrace"]["origin_ns"].get<std::string>().substr(9));
    std::map<int, Jobs> ranks;
    for (const json& event : profile["traceEvents"]) {
      const std::string kind = event.value("cat", "");
      const bool isPair = kind == "forward_backward";
      const bool isJob =
          event["ph"] == "X" && (kind == "forward" || isPair || kind.starts_with("backward"));
      if (!isJob) continue;
      const json& numbers = event["args"];
      const double begin = event["ts"].get<double>() + origin / 1000;
      const bool isNew =
          ranks[event["pid"].get<int>() - 1]
              .try_emplace({isPair ? numbers.value("action", "") : kind, numbers.value("stage", -1),
                            numbers.value("micro_batch", -1), numbers.value("step", -1)},
                           begin, begin + event["dur"].get<double>())
              .second;
      EXPECT_TRUE(isNew) << event.dump();
    }
    return ranks;
  }

  /// Expects every job of the run and no other, with times within `tolerance` microseconds.
  void expectAll(const Simulation& run, const test::TrainingShape& shape, double tolerance,
                 const std::set<JobKind>& without = {}) {
    std::vector<int> ranks(run.ranks.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    expectJobs(run, readJobs(recorded(run, shape)), ranks, tolerance, without);
  }

  static void expectJobs(const Simulation& run, const std::map<int, Jobs>& read,
                         const std::vector<int>& ranks, double tolerance,
                         const std::set<JobKind>& without = {}) {
    EXPECT_EQ(read.size(), ranks.size());
    for (const int number : ranks) {
      const int rank = number;
      ASSERT_TRUE(read.contains(number)) << rank;
      const Jobs& jobs = read.at(number);
      std::size_t count = 0;
      for (const Event& job : run.timeline.findTrack(number, kComputeLane)->events) {
        if (!isCompute(job.kind) || without.contains(job.kind)) continue;
        ++count;
        const std::string name = nameOf(run, job);
        const auto found = jobs.find({name, job.stage, job.microBatch, job.step + 2});
        ASSERT_NE(found, jobs.end()) << "rank " << rank << ": " << name << " " << job.stage << " "
                                     << job.microBatch << " " << job.step;
        EXPECT_NEAR(found->second.first, micros(job.begin), tolerance);
        EXPECT_NEAR(found->second.second, micros(job.end), tolerance);
      }
      EXPECT_EQ(jobs.size(), count) << "of rank " << rank;
    }
  }

  /// Expects the jobs of the table truth.csv beside real traces, and no other.
  void expectTruth(const std::string& folder) const {
    const std::map<int, Jobs> read = readJobs(folder);
    std::map<int, std::size_t> counts;
    std::ifstream truth(folder + "/truth.csv");
    std::string line;
    std::getline(truth, line);
    while (std::getline(truth, line)) {
      std::stringstream cells(line);
      std::vector<std::string> row;
      for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
      const int rank = std::stoi(row[0]);
      ++counts[rank];
      const auto job =
          read.at(rank).find({row[2], std::stoi(row[3]), std::stoi(row[5]), std::stoi(row[1])});
      ASSERT_NE(job, read.at(rank).end()) << folder << ": " << line;
      const double length = static_cast<double>(std::stoll(row[7]) - std::stoll(row[6])) / 1000;
      EXPECT_NEAR(job->second.second - job->second.first, length, std::max(0.1 * length, 400.0))
          << folder << ": " << line;
    }
    EXPECT_FALSE(counts.empty()) << folder;
    for (const auto& [rank, count] : counts) EXPECT_EQ(read.at(rank).size(), count) << folder;
  }

  /// Since a second that doubles can tell nanoseconds from.
  static double micros(Nanoseconds time) {
    return static_cast<double>(time % 10'000'000'000) / 1000.0;
  }

  static constexpr Nanoseconds kBegin = 1'700'000'001'000'000'000;
  static constexpr double kOfTheHost = 45;  // see MadeTraining
  static constexpr double kExact = 0.01;
};

TEST_F(FoundJobs, HostsOperatorsGiveEveryJobOf1F1B) {
  expectAll(training("1F1B", 4, 6), {}, kOfTheHost);
  const ProgramRun report = ask("report", {path("traces")});
  EXPECT_THAT(report.out,
              StartsWith("doubt: no annotation names the jobs of ranks 0 to 3: 96 jobs "
                         "were found by operators, kernels and messages; all 4 ranks follow "
                         "1F1B, 96 of 96 jobs;"));
}

TEST_F(FoundJobs, ModelWhoseForwardHasTwoOperatorsIsRead) {
  expectAll(training("1F1B", 2, 4), {.operators = 2}, kOfTheHost);
}

TEST_F(FoundJobs, ChunksAreThoseThatTheMessagesLeadTo) {
  expectAll(training("Interleaved1F1B", 4, 4, 2), {}, kOfTheHost);
}

TEST_F(FoundJobs, ChunksOfADeviceWithReceivesPostedEarlyAreThoseOfTheSchedule) {
  expectAll(training("Interleaved1F1B", 4, 4, 2), {.onDevice = true, .ahead = 2}, kExact);
}

TEST_F(FoundJobs, HalvesOfBackwardsAreJobs) {
  expectAll(training("ZB-H1", 4, 6), {.onDevice = true, .ahead = 2}, kExact);
}

TEST_F(FoundJobs, FusedPairsOfOneRankAreFound) {
  const Simulation run = training("Combined1F1B", 1, 5);
  for (const bool onDevice : {false, true}) {
    expectAll(run, {.onDevice = onDevice}, onDevice ? kExact : kOfTheHost);
    EXPECT_THAT(ask("report", {path("traces")}).out, HasSubstr("schedule: Combined1F1B"));
  }
}

TEST_F(FoundJobs, FusedPairsOfSeveralChunksAreThoseOfTheirSchedule) {
  for (const auto& [ranks, microBatches] : {std::pair(2, 4), std::pair(4, 8)}) {
    const Simulation run = training("Combined1F1B", ranks, microBatches, 2);
    expectAll(run, {}, kOfTheHost);
    const std::string jobs = ranks == 2 ? "48 of 48 jobs" : "192 of 192 jobs";
    EXPECT_THAT(ask("report", {path("traces")}).out, HasSubstr("follow Combined1F1B, " + jobs));
    expectAll(run, {.onDevice = true, .ahead = 2}, kExact);
  }
}

TEST_F(FoundJobs, FusedPairsOfDualPipeVAreFound) {
  for (const auto& [ranks, microBatches] : {std::pair(2, 6), std::pair(3, 7), std::pair(4, 10)}) {
    const Simulation run = training("DualPipeV", ranks, microBatches, 2);
    expectAll(run, {}, kOfTheHost);
    expectAll(run, {.onDevice = true, .ahead = 2}, kExact);
  }
}

TEST_F(FoundJobs, MessagesOfFusedPairsAreThoseOfTheirHalves) {
  const Simulation run = training("Combined1F1B", 4, 8, 2);
  for (const bool onDevice : {false, true}) {
    const ProgramRun result =
        this->run({recorded(run, {.onDevice = onDevice}), "-o", path("profile.json"), "-q"});
    ASSERT_EQ(result.exitCode, 0) << result.err;
    std::map<std::tuple<int, std::string, int, int, int>, int> read;
    const json profile = json::parse(contents(path("profile.json")));
    for (const json& event : profile["traceEvents"]) {
      const std::string kind = event.value("cat", "");
      if (event["ph"] != "X" || !(kind.starts_with("recv_") || kind.starts_with("send_"))) continue;
      const json& numbers = event["args"];
      ++read[{event["pid"].get<int>() - 1, kind, numbers.value("stage", -1),
              numbers.value("micro_batch", -1), numbers.value("step", -1)}];
    }
    std::size_t count = 0;
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
      const auto number = static_cast<int>(rank);
      for (const std::string_view lane : {kSendLane, kRecvLane}) {
        for (const Event& message : run.timeline.findTrack(number, lane)->events) {
          ++count;
          EXPECT_EQ((read[{number, std::string(logName(message.kind)), message.stage,
                           message.microBatch, message.step + 2}]),
                    1)
              << rank << " " << logName(message.kind) << " " << message.stage << " "
              << message.microBatch << (onDevice ? " on a device" : "");
        }
      }
    }
    EXPECT_EQ(read.size(), count);
  }
}

// Its micro-batches enter at both ends, which no schedule that is compared has.
TEST_F(FoundJobs, FusedPairsThatNoKnownScheduleHasAreNotTakenAndSaidSo) {
  const std::string traces = recorded(training("DualPipe", 4, 8), {});
  const ProgramRun report = ask("report", {traces});
  EXPECT_EQ(report.exitCode, 2);
  EXPECT_THAT(report.err, AllOf(HasSubstr("forwards and backwards of ranks 0 to 3 take turns in an "
                                          "order that no known schedule has, so "),
                                HasSubstr("jobs were not taken; annotate the jobs")));
}

TEST_F(FoundJobs, FusedPairsWithoutTheFilesOfAllRanksAreNotTakenAndSaidSo) {
  const std::string traces = recorded(training("Combined1F1B", 4, 8, 2), {});
  std::filesystem::remove(traces + "/rank2.json");
  const ProgramRun report = ask("report", {traces});
  EXPECT_EQ(report.exitCode, 2);
  EXPECT_THAT(report.err, HasSubstr("and give the files of all ranks"));
}

TEST_F(FoundJobs, RanksWhoseNeighboursHaveNoFilesHaveTheNumbersOfTheSchedule) {
  for (const bool onDevice : {false, true}) {
    for (const Simulation& run : {training("1F1B", 4, 6), training("Interleaved1F1B", 4, 4, 2)}) {
      const std::string traces =
          recorded(run, {.onDevice = onDevice, .ahead = 2, .namesGroup = true});
      std::filesystem::remove(traces + "/rank1.json");
      std::filesystem::remove(traces + "/rank2.json");
      expectJobs(run, readJobs(traces), {0, 3}, onDevice ? kExact : kOfTheHost);
      const ProgramRun report = ask("report", {traces});
      EXPECT_THAT(report.out, HasSubstr("all 2 ranks follow"));
      EXPECT_THAT(report.out, Not(HasSubstr("from rank 3 to rank 0")));
    }
  }
}

TEST_F(FoundJobs, StagesOfRanksWithoutNeighboursAndGroupsAreNotKnown) {
  for (const bool onDevice : {false, true}) {
    const std::string traces = recorded(training("1F1B", 4, 6), {.onDevice = onDevice});
    std::filesystem::remove(traces + "/rank1.json");
    std::filesystem::remove(traces + "/rank2.json");
    EXPECT_THAT(ask("report", {traces}).err,
                HasSubstr("the stages of ranks 0 and 3 are not known"));
  }
}

TEST_F(FoundJobs, DevicesWorkHasItsTimesHoweverEarlyItWasLaunched) {
  expectAll(training("1F1B", 4, 6), {.onDevice = true, .ahead = 3}, kExact);
}

TEST_F(FoundJobs, KernelsOfGraphsGiveTheJobsOfSchedules) {
  const test::TrainingShape shape{.onDevice = true, .inGraphs = true};
  expectAll(training("1F1B", 4, 6), shape, kExact);
  EXPECT_THAT(ask("report", {path("traces")}).out,
              HasSubstr("all 4 ranks follow 1F1B, 96 of 96 jobs;"));
}

TEST_F(FoundJobs, GraphsWhoseLastStageDoesNotTellItsBackwardsHaveNoJobs) {
  const std::string traces =
      recorded(training("ZB-H1", 4, 6), {.onDevice = true, .inGraphs = true});
  const ProgramRun report = ask("report", {traces});
  EXPECT_EQ(report.exitCode, 2);
  EXPECT_THAT(report.err, AllOf(HasSubstr("the CUDA graphs of ranks 0 to 3 do not tell where "
                                          "backwards of the last stage begin"),
                                HasSubstr("annotate the kernels")));
}

TEST_F(FoundJobs, ChunksInGraphsAreThoseOfTheOnlyScheduleWithTheirOrder) {
  expectAll(training("Interleaved1F1B", 4, 8, 2), {.onDevice = true, .inGraphs = true}, kExact);
  const ProgramRun report = ask("report", {path("traces")});
  EXPECT_THAT(report.out, HasSubstr("all 4 ranks follow Interleaved1F1B, 256 of 256 jobs;"));
}

TEST_F(FoundJobs, OrderInGraphsThatSeveralSchedulesHaveLeavesADoubt) {
  for (const auto& [schedule, chunks] : {std::pair("GPipe", 1), std::pair("LoopedBFS", 2)}) {
    recorded(training(schedule, 4, 4, chunks), {.onDevice = true, .inGraphs = true});
    EXPECT_THAT(ask("report", {path("traces")}).out, HasSubstr("are counted by their order"))
        << schedule;
  }
}

TEST_F(FoundJobs, KernelsOfGraphsWithOneNameGiveThemByTheirLengths) {
  expectAll(training("1F1B", 4, 6), {.onDevice = true, .inGraphs = true, .hasOneKernelName = true},
            kExact);
  const ProgramRun report = ask("report", {path("traces")});
  EXPECT_THAT(report.out, HasSubstr("all 4 ranks follow 1F1B, 96 of 96 jobs; no message shows "
                                    "where the backwards of rank 3 begin"));
}

TEST_F(FoundJobs, GraphsWithoutTheFilesOfAllRanksHaveNoJobs) {
  const std::string traces = recorded(training("1F1B", 4, 6), {.onDevice = true, .inGraphs = true});
  std::filesystem::remove(traces + "/rank3.json");
  const ProgramRun report = ask("report", {traces});
  EXPECT_EQ(report.exitCode, 2);
  EXPECT_THAT(report.err,
              HasSubstr("the CUDA graphs of ranks 0 to 2 do not say whom they wait for, "
                        "and other ranks have no file"));
}

TEST_F(FoundJobs, GraphsThatOnlyRunForwardsAreRead) {
  expectAll(training("ForwardOnly", 4, 6), {.onDevice = true, .inGraphs = true}, kExact);
}

TEST_F(FoundJobs, ForwardsWithoutBackwardsAreRead) {
  expectAll(training("ForwardOnly", 4, 6), {}, kOfTheHost);
}

TEST_F(FoundJobs, JobsWithoutAnnotationAreFoundBesideThoseThatHaveOne) {
  const auto isEven = [](const Event& job) { return job.microBatch % 2 == 0; };
  const auto isForward = [](const Event& job) { return job.kind == JobKind::kForward; };
  expectAll(training("1F1B", 2, 4), {.isAnnotated = isEven}, kOfTheHost);
  expectAll(training("1F1B", 2, 4), {.onDevice = true, .isAnnotated = isEven}, kExact);
  expectAll(training("1F1B", 2, 4), {.isAnnotated = isForward}, kOfTheHost);
  EXPECT_THAT(ask("report", {path("traces")}).out, HasSubstr("16 jobs were found"));
}

TEST_F(FoundJobs, AnnotatedTracesHaveNoSuchDoubt) {
  const Simulation run = training("1F1B", 2, 4);
  const auto all = [](const Event&) { return true; };
  for (const bool onDevice : {false, true}) {
    recorded(run, {.onDevice = onDevice, .isAnnotated = all});
    EXPECT_THAT(ask("report", {path("traces")}).out, Not(HasSubstr("doubt:"))) << onDevice;
  }
}

TEST_F(FoundJobs, MicroBatchesOfOneRankWithoutAPipelineAreFound) {
  for (const bool onDevice : {false, true}) {
    expectAll(training("1F1B", 1, 4), {.onDevice = onDevice}, onDevice ? kExact : kOfTheHost);
    EXPECT_THAT(ask("report", {path("traces")}).out,
                AllOf(HasSubstr("the micro-batches of one rank follow each other, without a "
                                "pipeline"),
                      HasSubstr("1 rank, 2 steps, 16 compute jobs")));
  }
}

TEST_F(FoundJobs, ScheduleAndIdleTimeAreThoseOfTheAnnotatedRun) {
  const Simulation run = training("1F1B", 4, 6);
  recorded(run, {});
  const json found = jsonOf("report", {path("traces")});
  expectValid(found.dump(), "report.schema.json");
  recorded(run, {.isAnnotated = [](const Event&) { return true; }});
  const json annotated = jsonOf("report", {path("traces")});
  EXPECT_EQ(found["findings"].size(), annotated["findings"].size());
  ASSERT_EQ(found["steps"].size(), annotated["steps"].size());
  for (std::size_t i = 0; i < found["steps"].size(); ++i) {
    EXPECT_NEAR(found["steps"][i]["bubble_ratio"].get<double>(),
                annotated["steps"][i]["bubble_ratio"].get<double>(), 0.01);
  }
}

/// Real traces beside the repository; see ../shared/data/README.md.
TEST_F(FoundJobs, RealTracesHaveTheJobsThatTheirAnnotationsRecorded) {
  const std::string folder = test::inSources("../shared/data/unannotated/");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "there is no " << folder;
  for (const char* const name : {"torch_1f1b_pp2", "megatron_pp2"}) expectTruth(folder + name);
}

/// tools/record_megatron_combined.py has recorded it.
TEST_F(FoundJobs, PairsOfARealTrainingUnderCombined1F1BAreThoseThatItRan) {
  expectTruth(test::inSources("parser/testing/megatron_combined"));
}

}  // namespace
}  // namespace pipetrace
