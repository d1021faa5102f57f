// Real PP x TP and PP x FSDP trainings over Gloo, whose ranks wait for each other inside of jobs:
// beside what the programs measured themselves (truth.json).
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "parser/testing/load_timeline.h"
#include "trace/event_arguments.h"
#include "trace/job_kind.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

constexpr const char* kCollectivesLane = "collectives";

/// What a rank did in a step, on average, in ms.
struct RankTimes {
  double jobs = 0;
  double waits = 0;  ///< for collectives, inside of jobs
  std::set<std::string> groups;

  double own() const { return jobs - waits; }
};

class RealCollectives : public testing::Test {
 protected:
  static fs::path folder(const std::string& name) {
    return fs::path(test::inSources("../shared/data")) / name;
  }

  void SetUp() override {
    if (!fs::exists(folder("real_hybrid/t_fsdp"))) {
      GTEST_SKIP() << folder("real_hybrid/t_fsdp") << " is not there";
    }
  }

  static std::map<int, RankTimes> timesOf(const std::string& name) {
    Diagnostics diagnostics;
    const Timeline timeline =
        test::loadTimeline({folder(name).string()}, {.threads = 1}, diagnostics);
    std::map<int, RankTimes> ranks;
    for (const auto& [rank, info] : timeline.ranks) {
      RankTimes& times = ranks[rank];
      std::map<std::int64_t, Event> jobs;
      std::set<std::int32_t> steps;
      for (const Event& event : timeline.findTrack(rank, kComputeLane)->events) {
        if (!isCompute(event.kind)) continue;
        jobs[event.job] = event;
        steps.insert(event.step);
        times.jobs += static_cast<double>(event.duration()) / 1e6;
      }
      for (const Event& event : timeline.findTrack(rank, kCollectivesLane)->events) {
        const Event& job = jobs.at(event.job);
        EXPECT_TRUE(job.begin <= event.begin && event.end <= job.end) << name << " " << rank;
        EXPECT_EQ(event.step, job.step);
        EXPECT_EQ(event.stage, job.stage);
        EXPECT_EQ(event.microBatch, job.microBatch);
        times.waits += static_cast<double>(event.duration()) / 1e6;
        for (const Argument& each : timeline.argumentsOf(event)) {
          if (timeline.strings[each.key] != collective_arguments::kGroup) continue;
          times.groups.insert(std::string(timeline.strings[each.text]));
        }
      }
      times.jobs /= static_cast<double>(steps.size());
      times.waits /= static_cast<double>(steps.size());
    }
    return ranks;
  }

  /// A figure of a step as the program measured it, in ms.
  static double truth(const std::string& name, int rank, const char* what) {
    std::ifstream file(folder(name) / "truth.json");
    return nlohmann::json::parse(file).at(std::to_string(rank)).at(what).get<double>();
  }
};

TEST_F(RealCollectives, WaitsOfTensorParallelPeersAreAboutAsLongAsGloosCalls) {
  for (const char* const run : {"t_tp_slowrank1", "m_tp_slow1", "t_itp"}) {
    const std::string name = std::string("real_hybrid/") + run;
    for (const auto& [rank, times] : timesOf(name)) {
      const double calls = truth(name, rank, "gloo:all_reduce");
      // Some end while their rank still computes; some are waited for before Gloo begins them.
      EXPECT_NEAR(times.waits / calls, 0.95, 0.12) << run << " rank " << rank;
      EXPECT_THAT(times.groups, ElementsAre(rank < 2 ? "0 1" : "2 3")) << run;
    }
  }
}

TEST_F(RealCollectives, WithoutThemTheSlowRankIsSlowerByWhatWasPlanted) {
  for (const char* const run : {"t_tp_slowrank1", "m_tp_slow1"}) {
    const std::string name = std::string("real_hybrid/") + run;
    const auto ranks = timesOf(name);
    const double planted = truth(name, 1, "own") - truth(name, 0, "own");
    EXPECT_NEAR(ranks.at(1).own() - ranks.at(0).own(), planted, 0.05 * planted) << run;
    EXPECT_LT(ranks.at(1).jobs, 1.01 * ranks.at(0).jobs) << "jobs themselves do not show it";
  }
  const auto gloo = timesOf("hybrid/gloo_slow_rank_1");
  EXPECT_NEAR(gloo.at(1).own() / gloo.at(0).own(), 1.4, 0.1);
}

TEST_F(RealCollectives, ASoundRunHasPeersOfEqualOwnTime) {
  for (const char* const run : {"t_itp", "t_fsdp"}) {
    const auto ranks = timesOf(std::string("real_hybrid/") + run);
    for (const int first : {0, 2}) {
      EXPECT_NEAR(ranks.at(first).own() / ranks.at(first + 1).own(), 1, 0.03) << run;
    }
  }
}

TEST_F(RealCollectives, ThePeerOfARankThatLoadsDataWaitsInAnAllGather) {
  const auto ranks = timesOf("real_hybrid/t_fsdp_data1");
  EXPECT_NEAR(ranks.at(0).waits, 150.5, 10);
  EXPECT_LT(ranks.at(1).waits, 10);
  EXPECT_NEAR(ranks.at(0).own() / ranks.at(1).own(), 1, 0.02);
}

}  // namespace
}  // namespace pipetrace
