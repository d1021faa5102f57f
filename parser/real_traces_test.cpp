#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <utility>

#include "parser/load_timeline.h"
#include "parser/testing/load_timeline.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

/// The expected numbers were counted in the files themselves, by other programs.
class RealTracesTest : public testing::Test {
 protected:
  static std::string path(const std::string& name) {
    return test::inSources("../shared/data/") + name;
  }

  Timeline load(const std::vector<std::string>& names) {
    std::vector<std::string> inputs;
    for (const std::string& name : names) inputs.push_back(path(name));
    return test::loadTimeline(inputs, {.threads = 1}, diagnostics_);
  }

  std::int64_t reported(const std::string& message) const {
    std::int64_t count = 0;
    for (const Diagnostic& d : diagnostics_.list()) {
      if (d.message.starts_with(message)) count += d.count;
    }
    return count;
  }

  static std::map<JobKind, int> kindsOf(const Timeline& timeline) {
    std::map<JobKind, int> kinds;
    for (const Track& track : timeline.tracks) {
      for (const Event& event : track.events) ++kinds[event.kind];
    }
    return kinds;
  }

  Diagnostics diagnostics_;
};

/// As Perfetto's trace processor v52 counts them.
class ArrowsOfRealTraces : public testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(ArrowsOfRealTraces, AreAsManyAsInPerfetto) {
  const std::string path = test::inSources("../shared/data/") + std::string(GetParam().first);
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  Diagnostics diagnostics;
  std::vector<LoadedFile> files;
  test::loadTimeline({path}, {.threads = 1}, diagnostics, &files);
  EXPECT_EQ(files.at(0).arrows, GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(Files, ArrowsOfRealTraces,
                         testing::Values(std::pair("kineto_nccl.json.gz", 4317),
                                         std::pair("chain_flows.json", 15),
                                         std::pair("catapult_flow.json", 886)));

#define SKIP_WITHOUT(name) \
  if (!std::filesystem::exists(path(name))) GTEST_SKIP() << path(name) << " is not there"

TEST_F(RealTracesTest, EveryEventOfAKinetoFileIsReadOrReported) {
  SKIP_WITHOUT("kineto_nccl.json.gz");
  const Timeline timeline = load({"kineto_nccl.json.gz"});
  constexpr int kMetadata = 38;
  // The lane `host` holds the annotations of the jobs, which are on the lane `compute`, too.
  const std::size_t events =
      timeline.eventCount() - timeline.findTrack(0, kHostLane)->events.size();
  EXPECT_EQ(events, 26'933U);
  EXPECT_EQ(reported("an end of an arrow"), 3862 + 8652 + 543 + 543);
  EXPECT_EQ(reported("an event that is no span of one thread"), 2);
  EXPECT_EQ(events + 13'600 + 2 + kMetadata, 40'573U) << "all elements of the array";
  ASSERT_EQ(timeline.ranks.size(), 1U);
  EXPECT_EQ(timeline.ranks.at(0).worldSize, 2);

  auto kinds = kindsOf(timeline);
  EXPECT_EQ(kinds[JobKind::kKernel], 2700 - 15 - 6);
  EXPECT_EQ(kinds[JobKind::kBroadcast], 6);
  EXPECT_EQ(kinds[JobKind::kAllReduce], 15);
  EXPECT_EQ(kinds[JobKind::kCopy], 960 + 114);
  EXPECT_EQ(kinds[JobKind::kForward], 3);
  EXPECT_EQ(kinds[JobKind::kBackward], 3);
  EXPECT_EQ(kinds[JobKind::kOptimizer], 3);
  EXPECT_EQ(timeline.findTrack(0, "stream 7")->events.size(), 2679U + 114 + 960 + 9);
  EXPECT_EQ(timeline.findTrack(0, "stream 40")->events.size(), 42U);
  // The file says that a step and a job of it begin then: baseTimeNanoseconds + ts.
  const Event& forward = timeline.findTrack(0, kHostLane)->events.at(0);
  EXPECT_EQ(forward.begin, 1'711'964'646'000'000'000 + 4'458'676'417'568'708);
  EXPECT_EQ(forward.duration(), 103'788'081);
  EXPECT_EQ(forward.step, 4);
}

/// A job of kineto_nccl.json.gz as the device ran it, found by a separate program.
struct KnownJob {
  JobKind kind;
  Nanoseconds begin;
  Nanoseconds end;
  std::int64_t work;  // kernels, copies and memsets
  Nanoseconds hostBegin;
  Nanoseconds hostLength;
};

constexpr KnownJob kKnownJobs[] = {{JobKind::kForward, 1716423322422880180, 1716423322520797138,
                                    450, 1716423322417568708, 103788081},
                                   {JobKind::kBackward, 1716423322521592872, 1716423322624036873,
                                    792, 1716423322521385928, 102956039},
                                   {JobKind::kOptimizer, 1716423322629381665, 1716423322638649604,
                                    9, 1716423322624388732, 14808562},
                                   {JobKind::kForward, 1716423322644934992, 1716423322742540754,
                                    450, 1716423322639970852, 103098615},
                                   {JobKind::kBackward, 1716423322743293096, 1716423322843861122,
                                    792, 1716423322743097600, 101094984},
                                   {JobKind::kOptimizer, 1716423322849025308, 1716423322858467742,
                                    9, 1716423322844231426, 14753186},
                                   {JobKind::kForward, 1716423322864667148, 1716423322961904081,
                                    450, 1716423322859747890, 102693531},
                                   {JobKind::kBackward, 1716423322962675623, 1716423323068596793,
                                    792, 1716423322962470056, 106515555},
                                   {JobKind::kOptimizer, 1716423323073939184, 1716423323083431186,
                                    9, 1716423323069035961, 14943853}};

TEST_F(RealTracesTest, JobsOfAKinetoFileLieWhereTheDeviceRanThem) {
  SKIP_WITHOUT("kineto_nccl.json.gz");
  const Timeline timeline = load({"kineto_nccl.json.gz"});
  const auto& jobs = timeline.findTrack(0, kComputeLane)->events;
  const auto& host = timeline.findTrack(0, kHostLane)->events;
  const auto& work = timeline.findTrack(0, "stream 7")->events;
  ASSERT_EQ(jobs.size(), std::size(kKnownJobs));
  ASSERT_EQ(host.size(), std::size(kKnownJobs));
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const KnownJob& known = kKnownJobs[i];
    EXPECT_EQ(jobs[i].kind, known.kind) << i;
    // That program kept microseconds as doubles.
    EXPECT_NEAR(static_cast<double>(jobs[i].begin - known.begin), 0, 1) << i;
    EXPECT_NEAR(static_cast<double>(jobs[i].end - known.end), 0, 1) << i;
    EXPECT_EQ(std::count_if(work.begin(), work.end(),
                            [&](const Event& e) { return e.job == jobs[i].job; }),
              known.work)
        << i;
    EXPECT_NEAR(static_cast<double>(host[i].begin - known.hostBegin), 0, 1) << i;
    EXPECT_EQ(host[i].duration(), known.hostLength) << i;
  }
  EXPECT_TRUE(std::none_of(
      diagnostics_.list().begin(), diagnostics_.list().end(),
      [](const Diagnostic& d) { return d.message.find("no job") != std::string::npos; }))
      << "all work was launched in a job";
}

TEST_F(RealTracesTest, MegatronAppsFilesOfRanksMatchTheTraceOfItsScript) {
  SKIP_WITHOUT("megatronapp/app_rank0.json");
  const Timeline raw = load({"megatronapp/app_rank3.json", "megatronapp/app_rank1.json",
                             "megatronapp/app_rank0.json", "megatronapp/app_rank2.json"});
  const Timeline aggregated = load({"megatronapp/app_aggregated.json"});
  EXPECT_TRUE(diagnostics_.empty());
  auto kinds = kindsOf(raw);
  EXPECT_EQ(kinds[JobKind::kForward], 2560);
  EXPECT_EQ(kinds[JobKind::kBackward], 2560);
  EXPECT_EQ(raw.eventCount(), 5120U + 4 * 20) << "and the iterations";
  EXPECT_EQ(kindsOf(aggregated),
            (std::map<JobKind, int>{{JobKind::kForward, 2560}, {JobKind::kBackward, 2560}}));
  for (int rank = 0; rank < 4; ++rank) {
    const auto& ours = raw.findTrack(rank, "compute")->events;
    const auto& theirs = aggregated.findTrack(rank, "compute")->events;
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      // Its times are whole microseconds.
      ASSERT_EQ(ours[i].begin / 1000 * 1000, theirs[i].begin) << "rank " << rank << " job " << i;
      ASSERT_EQ(ours[i].end / 1000 * 1000, theirs[i].end) << "rank " << rank << " job " << i;
      ASSERT_EQ(ours[i].kind, theirs[i].kind);
      ASSERT_EQ(ours[i].step, theirs[i].step);
      ASSERT_EQ(ours[i].microBatch, theirs[i].microBatch);
      ASSERT_EQ(ours[i].stage, theirs[i].stage);
      ASSERT_EQ(ours[i].stage, ours[i].chunk * 4 + rank);
    }
    EXPECT_EQ(raw.ranks.at(rank).numStages, 16);
    EXPECT_EQ(aggregated.ranks.at(rank).numChunks, 4);
    EXPECT_EQ(aggregated.ranks.at(rank).numMicroBatches, 8);
  }
}

TEST_F(RealTracesTest, AllJobsOfTheStragglerStudyAreReadOnEightRanks) {
  SKIP_WITHOUT("straggler_study/timeline-ST.json.gz");
  const Timeline timeline = load({"straggler_study/timeline-ST.json.gz"});
  EXPECT_TRUE(diagnostics_.empty());
  EXPECT_EQ(timeline.eventCount(), 6784U);
  EXPECT_EQ(kindsOf(timeline), (std::map<JobKind, int>{{JobKind::kForward, 1024},
                                                       {JobKind::kBackward, 1024},
                                                       {JobKind::kOptimizer, 256},
                                                       {JobKind::kDefault, 256},
                                                       {JobKind::kSendForward, 768},
                                                       {JobKind::kRecvForward, 768},
                                                       {JobKind::kSendBackward, 768},
                                                       {JobKind::kRecvBackward, 768},
                                                       {JobKind::kAllReduce, 256 + 128 + 256},
                                                       {JobKind::kAllGather, 256},
                                                       {JobKind::kReduceScatter, 256}}));
  ASSERT_EQ(timeline.ranks.size(), 8U);
  for (const auto& [rank, info] : timeline.ranks) {
    EXPECT_EQ(info.numStages, 4);
    EXPECT_EQ(info.numMicroBatches, 4);
    EXPECT_EQ(info.worldSize, 8);
    EXPECT_EQ(info.dataParallelIndex, rank % 2);
    for (const Event& event : timeline.findTrack(rank, "compute")->events) {
      if (!isCompute(event.kind)) continue;
      ASSERT_EQ(event.stage, rank / 2);
    }
    for (const Event& event : timeline.findTrack(rank, "pp-comm")->events) {
      const bool isWithNext =
          event.kind == JobKind::kSendForward || event.kind == JobKind::kRecvBackward;
      ASSERT_EQ(event.peer, isWithNext ? rank + 2 : rank - 2);
      ASSERT_GE(event.microBatch, 0);
    }
  }
}

TEST_F(RealTracesTest, EveryEventOfCatapultsFileIsReadOrReported) {
  SKIP_WITHOUT("catapult_flow.json");
  const Timeline timeline = load({"catapult_flow.json"});
  EXPECT_EQ(timeline.eventCount(), 1625U);
  EXPECT_EQ(reported("a `B` event has no `E`"), 3);
  EXPECT_EQ(reported("an end of an arrow"), 886 + 866);
}

}  // namespace
}  // namespace pipetrace
