// Runs that cannot be as recorded, as users see them. Each case is made up here, so that its right
// figures are known.
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "tests/pipe_trace/explain/slow_run_fixture.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class DoubtfulRuns : public SlowRuns {
 protected:
  /// 1F1B of 4 ranks and 8 micro-batches, without a fault.
  static Simulation sound(int steps = 3) {
    Costs costs = Costs::equal(4, {10 * kNsPerMs, 20 * kNsPerMs});
    costs.transfer = kNsPerMs / 10;
    return simulate(buildSchedule("1F1B", 4, 8), costs,
                    {.steps = steps, .stepsStartTogether = true});
  }

  static double micros(Nanoseconds time) { return static_cast<double>(time) / 1000.0; }

  /// Each rank's jobs as a Chrome trace whose times count from the rank's first job.
  std::string tracesFromOwnZero() const {
    const Simulation run = sound();
    std::filesystem::create_directories(path("own zero"));
    for (int rank = 0; rank < 4; ++rank) {
      const Track& track = *run.timeline.findTrack(rank, kComputeLane);
      json events = json::array();
      Nanoseconds zero = kNsMin;
      for (const Event& job : track.events) {
        if (!isCompute(job.kind)) continue;
        if (zero == kNsMin) zero = job.begin;
        events.push_back(
            {{"name", std::string(logName(job.kind))},
             {"ph", "X"},
             {"pid", rank},
             {"tid", 0},
             {"ts", micros(job.begin - zero)},
             {"dur", micros(job.duration())},
             {"args",
              {{"micro_batch", job.microBatch}, {"stage", job.stage}, {"step", job.step}}}});
      }
      write("own zero/rank" + std::to_string(rank) + ".json", json{{"traceEvents", events}}.dump());
    }
    return path("own zero");
  }

  /// The stages of the run as threads of one process. Else each stage has threads for its forwards
  /// and its backwards, which say nothing of ranks.
  std::string stagesAsThreads() const {
    return asThreads([](int rank, bool) { return rank + 1; });
  }
  std::string forwardsAndBackwardsAsThreads() const {
    return asThreads([](int rank, bool isForward) { return 2 * rank + (isForward ? 1 : 2); });
  }
  template <typename ThreadOf>
  std::string asThreads(const ThreadOf& threadOf) const {
    const Simulation run = sound();
    json events = json::array();
    for (int rank = 0; rank < 4; ++rank) {
      for (const Event& job : run.timeline.findTrack(rank, kComputeLane)->events) {
        if (!isCompute(job.kind)) continue;
        const bool isForward = job.kind == JobKind::kForward;
        for (const char* phase : {"B", "E"}) {
          events.push_back({{"name", (isForward ? "F" : "B") + std::to_string(job.microBatch)},
                            {"ph", phase},
                            {"pid", 0},
                            {"tid", threadOf(rank, isForward)},
                            {"ts", micros(*phase == 'B' ? job.begin : job.end)}});
        }
      }
    }
    write("threads.json", events.dump());
    json kinds = json::object();
    for (int i = 0; i < 8; ++i) {
      kinds["F" + std::to_string(i)] = "forward";
      kinds["B" + std::to_string(i)] = "backward";
    }
    write("kinds.json", json{{"kinds", kinds}}.dump());
    return path("threads.json");
  }

  /// A trace of PyTorch's profiler for each rank. A job is two kernels, which `change` may change:
  /// it gets the rank, the number of the kernel on it, and the begin and length in ns.
  using Change = std::function<void(int, int, Nanoseconds&, Nanoseconds&)>;
  std::string torchTraces(const Change& change) const {
    const Simulation run = sound(2);
    std::filesystem::create_directories(path("torch"));
    for (int rank = 0; rank < 4; ++rank) {
      const int host = 1000 + rank;
      json events = json::array();
      const auto add = [&](const char* category, const std::string& name, int pid, int tid,
                           Nanoseconds begin, Nanoseconds length, json args) {
        events.push_back({{"ph", "X"},
                          {"cat", category},
                          {"name", name},
                          {"pid", pid},
                          {"tid", tid},
                          {"ts", micros(begin)},
                          {"dur", micros(length)},
                          {"args", std::move(args)}});
      };
      for (const auto& [pid, label] :
           {std::pair(host, std::string("CPU")), std::pair(rank, "GPU " + std::to_string(rank))}) {
        events.push_back({{"ph", "M"},
                          {"name", "process_labels"},
                          {"pid", pid},
                          {"tid", 0},
                          {"ts", 0},
                          {"args", {{"labels", label}}}});
      }
      int kernel = 0;
      Nanoseconds launch = 0;
      for (const Event& job : run.timeline.findTrack(rank, kComputeLane)->events) {
        if (!isCompute(job.kind)) continue;
        // The host is 5 ms ahead.
        launch = std::max(launch + 200 * kNsPerUs, kBegin + job.begin - 5 * kNsPerMs);
        const std::string name = "PP:" + std::to_string(job.stage) +
                                 (job.kind == JobKind::kForward ? "F" : "B") +
                                 std::to_string(job.microBatch);
        add("user_annotation", name, host, host, launch, 100 * kNsPerUs, json::object());
        for (int half = 0; half < 2; ++half, ++kernel) {
          add("cuda_runtime", "cudaLaunchKernel", host, host, launch + (10 + 40 * half) * kNsPerUs,
              5 * kNsPerUs, {{"correlation", kernel + 1}});
          Nanoseconds length = job.duration() / 2;
          Nanoseconds begin = kBegin + job.begin + half * length;
          change(rank, kernel, begin, length);
          add("kernel", "gemm", rank, 7, begin, length,
              {{"correlation", kernel + 1}, {"stream", 7}, {"device", rank}});
        }
      }
      write("torch/rank" + std::to_string(rank) + "_trace.json",
            json{{"schemaVersion", 1},
                 {"deviceProperties", json::array()},
                 {"distributedInfo", {{"backend", "nccl"}, {"rank", rank}, {"world_size", 4}}},
                 {"traceEvents", events}}
                .dump());
    }
    return path("torch");
  }

  static std::vector<std::string> kindsOf(const json& report) {
    std::vector<std::string> kinds;
    for (const json& doubt : report["trust"]) kinds.push_back(doubt["kind"]);
    return kinds;
  }
  static double bubbleRatio(const json& report) { return report["bubble_ratio"]; }

  static constexpr Nanoseconds kBegin = 1'000 * kNsPerSecond;
};

TEST_F(DoubtfulRuns, SoundRunsHaveAnEmptyTrust) {
  const std::string folder = logs(sound());
  const json report = jsonOf("report", {folder});
  EXPECT_EQ(report["trust"], json::array());
  expectValid(report.dump(), "report.schema.json");
  const ProgramRun summary = run({folder, "--json"});
  EXPECT_EQ(json::parse(summary.out)["trust"], json::array());
  EXPECT_EQ(ask("report", {folder, "--strict"}).exitCode, 0);
  EXPECT_THAT(ask("report", {folder}).out, StartsWith("4 ranks"));
}

TEST_F(DoubtfulRuns, TimesFromEachRanksOwnZeroAreAlignedByJobsAndThatIsSaid) {
  const std::string folder = tracesFromOwnZero();
  const ProgramRun text = ask("report", {folder});
  EXPECT_EQ(text.exitCode, 0) << text.err;
  EXPECT_THAT(text.out, StartsWith("doubt: the clocks of ranks 0 to 3 are apart by at least 10.0"));
  EXPECT_THAT(text.out, Not(HasSubstr("transfers cost")));
  const json report = jsonOf("report", {folder});
  EXPECT_THAT(kindsOf(report), testing::ElementsAre("clocks_moved"));
  expectValid(report.dump(), "report.schema.json");
  EXPECT_EQ(ask("report", {folder, "--strict"}).exitCode, 1);

  const ProgramRun asRecorded = ask("report", {folder, "--align", "none"});
  EXPECT_THAT(asRecorded.out,
              AllOf(StartsWith("doubt: 1F"), HasSubstr("clocks are apart by at least that")));
  EXPECT_THAT(asRecorded.out, Not(HasSubstr("ranks wait for data of other ranks")));
}

TEST_F(DoubtfulRuns, StagesThatAreThreadsOfOneProcessAreRanks) {
  const std::string file = stagesAsThreads();
  const ProgramRun summary = run({file, "--kinds", path("kinds.json"), "--json"});
  EXPECT_EQ(summary.exitCode, 0) << summary.err;
  EXPECT_THAT(summary.err, HasSubstr("are taken for ranks 0 to 3"));
  EXPECT_NEAR(bubbleRatio(json::parse(summary.out)), 0.2756, 0.002);
}

TEST_F(DoubtfulRuns, JobsOfOneRankAtTheSameTimeHaveNoFiguresWithoutForce) {
  const std::string file = forwardsAndBackwardsAsThreads();
  const std::vector<std::string> kinds = {file, "--kinds", path("kinds.json")};
  const ProgramRun refused = ask("report", kinds);
  expectError(refused, "compute jobs of rank 0 run at the same time", "--force");
  EXPECT_EQ(run({file, "--kinds", path("kinds.json")}).exitCode, 2);

  std::vector<std::string> forced = kinds;
  forced.emplace_back("--force");
  const ProgramRun text = ask("report", forced);
  EXPECT_EQ(text.exitCode, 0) << text.err;
  EXPECT_THAT(text.out, StartsWith("doubt: compute jobs of rank 0 run at the same time"));

  std::vector<std::string> written = {file, "--kinds", path("kinds.json"), "-o", path("p.json")};
  EXPECT_EQ(run(written).exitCode, 2) << "the summary is refused";
  EXPECT_TRUE(std::filesystem::exists(path("p.json"))) << "a look at the lanes tells why";
}

TEST_F(DoubtfulRuns, KernelsWithTimeZeroAreLeftOutAndSaid) {
  const std::string folder =
      torchTraces([](int rank, int kernel, Nanoseconds& begin, Nanoseconds& length) {
        if (rank != 1 || kernel % 16 != 3) return;
        begin = 0;
        length = 0;
      });
  const ProgramRun summary = run({folder, "--json"});
  EXPECT_EQ(summary.exitCode, 0) << summary.err;
  const json figures = json::parse(summary.out);
  EXPECT_THAT(kindsOf(figures), testing::ElementsAre("no_time"));
  EXPECT_EQ(figures["trust"][0]["count"], 4);
  EXPECT_NEAR(bubbleRatio(figures), 0.2756, 0.02);
  EXPECT_THAT(run({folder}).out, StartsWith("doubt: 4 events of rank 1 have no time"));
}

TEST_F(DoubtfulRuns, StepsWithKernelsOfTimeZeroDoNotCount) {
  const std::string folder =
      torchTraces([](int rank, int kernel, Nanoseconds& begin, Nanoseconds& length) {
        if (rank == 1 && kernel == 3) begin = length = 0;  // half of a job of the first step
      });
  const ProgramRun report = ask("report", {folder});
  EXPECT_THAT(report.out,
              HasSubstr("work has no time in 1 step, which is left out; all figures and "
                        "findings are about 1 of 2 steps"));
}

TEST_F(DoubtfulRuns, KernelsThatGoOnIntoTheNextAreCutAndCounted) {
  const std::string right = torchTraces([](int, int, Nanoseconds&, Nanoseconds&) {});
  const json sound = json::parse(run({right, "--json"}).out);
  EXPECT_THAT(kindsOf(sound), testing::IsEmpty());
  const std::string folder = torchTraces([](int, int kernel, Nanoseconds&, Nanoseconds& length) {
    if (kernel % 4 == 0) length += 7 * kNsPerMs;  // the next one begins as it should end
  });
  const json figures = json::parse(run({folder, "--json"}).out);
  EXPECT_THAT(kindsOf(figures), testing::ElementsAre("overruns"));
  EXPECT_NEAR(bubbleRatio(figures), bubbleRatio(sound), 0.0001);
}

TEST_F(DoubtfulRuns, PagesBeginWithDoubts) {
  const std::string folder = tracesFromOwnZero();
  ASSERT_EQ(ask("report", {folder, "-o", path("report.html")}).exitCode, 0);
  const std::string page = contents(path("report.html"));
  const std::size_t doubt = page.find("<p class=\"doubt\">Doubt: the clocks of ranks 0 to 3");
  ASSERT_NE(doubt, std::string::npos);
  EXPECT_LT(doubt, page.find("4 ranks, 3 steps"));
}

/// Small inputs of the shape that people have shown in public. They are no part of the repository.
class PublicReports : public DoubtfulRuns {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(shared(""))) GTEST_SKIP() << "there is no " << shared("");
  }
  static std::string shared(const std::string& name) {
    const char* const folder = std::getenv("PIPETRACE_PUBLIC_REPORTS");
    return (folder != nullptr ? std::string(folder) + "/"
                              : test::inSources("../shared/data/public_reports/")) +
           name;
  }
  static json summaryOf(const std::string& name) {
    const ProgramRun result = run({shared(name), "--json"});
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return result.exitCode == 0 ? json::parse(result.out) : json{{"trust", json::array()}};
  }
};

TEST_F(PublicReports, TheSoundOneHasNoDoubt) {
  const json figures = summaryOf("00-base/traces");
  EXPECT_EQ(figures["trust"], json::array());
  EXPECT_NEAR(bubbleRatio(figures), 0.2762, 0.0001);
}

TEST_F(PublicReports, KernelsWithTimeZeroAreNoMeasurements) {
  for (const char* const name :
       {"08-kineto-ts0-kernel/traces", "08-kineto-ts0-kernel/traces_absolute"}) {
    const json figures = summaryOf(name);
    EXPECT_THAT(kindsOf(figures), testing::ElementsAre("no_time")) << name;
    EXPECT_NEAR(bubbleRatio(figures), 0.2762, 0.025) << "jobs lack the time of such work: " << name;
  }
}

TEST_F(PublicReports, ClocksOfEachProcessAreAlignedAndOneClockIsNot) {
  EXPECT_EQ(summaryOf("29-clocks-per-process/one_clock")["trust"], json::array());
  EXPECT_THAT(kindsOf(summaryOf("29-clocks-per-process/own_zero")),
              testing::ElementsAre("clocks_moved"));
}

TEST_F(PublicReports, StagesOfPaddlesRecordsAreRanks) {
  const json merged = summaryOf("12-paddle-fleet-profiling/merged");
  EXPECT_NEAR(bubbleRatio(merged), 0.2749, 0.0001);
  EXPECT_EQ(merged["trust"], json::array());
  std::vector<std::string> files;
  for (int rank = 0; rank < 4; ++rank) {
    files.push_back(shared("12-paddle-fleet-profiling/profile_record_tmp_file_for_rank_") +
                    std::to_string(rank));
  }
  files.emplace_back("--json");
  EXPECT_EQ(json::parse(run(files).out)["bubble_ratio"], merged["bubble_ratio"]);
}

TEST_F(PublicReports, APlanThatTorchDumpsIsReadAndSaidToBeOne) {
  const std::string file = shared("07-torch-dump-chrometrace/compute_1f1b.json");
  const ProgramRun result = run({file, "--json"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("it is a plan that torch's _dump_chrometrace wrote"));
  EXPECT_NEAR(bubbleRatio(json::parse(result.out)), 0.2727, 0.0001);
}

TEST_F(PublicReports, ShapesOfJsonAreReadOrNamed) {
  EXPECT_THAT(run({shared("19-nested-traceevents/rank0_trace.json")}).err,
              HasSubstr("is no list but a whole trace"));
  EXPECT_THAT(run({shared("19-nested-traceevents/gzgz")}).err, HasSubstr("compressed twice"));
  EXPECT_THAT(run({shared("19-nested-traceevents/zipfolder")}).err, HasSubstr("trace.zip"));
  EXPECT_NEAR(bubbleRatio(summaryOf("19-nested-traceevents/plaingz")), 0.2762, 0.0001);
  EXPECT_NEAR(bubbleRatio(summaryOf("20-leading-comma/trace.json")), 0.2762, 0.0001);
}

TEST_F(PublicReports, PlansInTorchsOldNotationCostWhatTheyDoInTheNewOne) {
  const auto plan = [](const std::string& file) {
    return ask("plan", {"--schedule-file", shared(file)}).out;
  };
  EXPECT_THAT(plan("01-torch-old-zb1p-compute/zb1p_2rank_2stagep_compute.csv"),
              AllOf(HasSubstr("torch's old notation"), HasSubstr("bubble ratio 0.0204")));
  EXPECT_THAT(plan("01-torch-old-zb1p-compute/new_notation.csv"), HasSubstr("bubble ratio 0.0204"));
  EXPECT_THAT(plan("02-torch-old-zb1p-comms/zb1p_2rank_2stagep_comms.csv"),
              HasSubstr("bubble ratio 0.0204"));
  EXPECT_THAT(plan("03-titan-4rank-csv/4-rank-2024-11.csv"), HasSubstr("bubble ratio 0.0769"));
  EXPECT_THAT(plan("03-titan-4rank-csv/4-rank.csv"), HasSubstr("bubble ratio 0.0769"));
}

}  // namespace
}  // namespace pipetrace
