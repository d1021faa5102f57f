#include "parser/runs/rank_names.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(RankNames, TheNumberAfterTheLastWordRankIsTheRank) {
  EXPECT_EQ(rankInName("a/rank1/trace_rank-7.json"), 7);
  EXPECT_EQ(rankInName("rank3"), 3);
  EXPECT_EQ(rankInName("iteration_10/rank0_trace.json"), 0);
  EXPECT_EQ(rankInName("trace_rank3.json"), 3);
  EXPECT_EQ(rankInName("rank-3.json"), 3);
  EXPECT_EQ(rankInName("job_7_rank_3_step_9.pt.trace.json.gz"), 3);
  for (const char* name : {"rank", "a/rank3/x", "rankle4", "rank99999999999", ""}) {
    EXPECT_EQ(rankInName(name), std::nullopt) << name;
  }
}

TEST(RankNames, CoordinatesInAllNamesGiveRanksAlongTensorThenDataThenPipeline) {
  const std::vector<std::string> paths = {"x/dp0_pp0_tp0.json", "x/dp0_pp0_tp1.json",
                                          "x/dp1_pp0_tp0.json", "x/dp1_pp0_tp1.json",
                                          "x/dp0_pp1_tp0.json", "x/dp1_pp2_tp1.json"};
  EXPECT_THAT(ranksInNames(paths), ElementsAre(Optional(0), Optional(1), Optional(2), Optional(3),
                                               Optional(4), Optional(11)));
}

TEST(RankNames, NamesOfMegatronAppsTracerArePlacesInTheGrid) {
  EXPECT_EQ(megatronAppPlace("x/benchmark-data-1-pipeline-2-tensor-3.json"), (GridPlace{1, 2, 3}));
  EXPECT_EQ(megatronAppPlace("benchmark-data-10-pipeline-0-tensor-0.json.gz"),
            (GridPlace{10, 0, 0}));
  for (const char* name :
       {"benchmark-data-1-pipeline-2.json", "benchmark-data-pipeline-2-tensor-3.json",
        "benchmark-1-aggregated.json", "data-1-pipeline-2-tensor-3.json",
        "benchmark-data-1-pipeline-2-tensor-99999999999.json"}) {
    EXPECT_EQ(megatronAppPlace(name), std::nullopt) << name;
  }
  const std::vector<std::string> paths = {"x/benchmark-data-0-pipeline-1-tensor-0.json",
                                          "x/benchmark-data-1-pipeline-1-tensor-1.json",
                                          "x/benchmark-data-1-pipeline-2-tensor-0.json"};
  EXPECT_THAT(ranksInNames(paths), ElementsAre(Optional(4), Optional(7), Optional(10)))
      << "tensor-parallel ranks count first, then data-parallel ones; the first stage is missing";
}

TEST(RankNames, TheWordRankCountsBeforeCoordinatesAndLettersMakeNoCoordinate) {
  const std::vector<std::string> paths = {"pp1_rank6.json", "app3.json", "http-2.json",
                                          "pp_2.json"};
  EXPECT_THAT(ranksInNames(paths),
              ElementsAre(Optional(6), std::nullopt, std::nullopt, Optional(2)));
}

TEST(RankNames, CoordinatesTooLargeForARankGiveNone) {
  const std::vector<std::string> paths = {"pp999999999_dp999999999.json"};
  EXPECT_THAT(ranksInNames(paths), ElementsAre(std::nullopt));
}

std::vector<std::optional<int>> ranksOf(const std::vector<std::string>& paths) {
  return ranksInNames(paths);
}
using Some = std::vector<std::optional<int>>;

TEST(RankNames, TheNumberInWhichNamesDifferIsTheRankWhateverTheirOrder) {
  EXPECT_EQ(ranksOf({"x/gpt-0.sqlite", "x/gpt-1.sqlite", "x/gpt-10.sqlite", "x/gpt-2.sqlite"}),
            Some({0, 1, 10, 2}));
  EXPECT_EQ(ranksOf({"gpt_0.json.gz", "gpt_2.json"}), Some({0, 2})) << "rank 1 is missing";
  EXPECT_EQ(ranksOf({"a#1.json", "a#0.json"}), Some({1, 0}));
  EXPECT_EQ(ranksOf({"worker1.json", "worker0.json"}), Some({1, 0}));
  EXPECT_EQ(ranksOf({"job7_3_0.json", "job7_3_1.json"}), Some({0, 1})) << "others are all equal";
  EXPECT_EQ(ranksOf({"node_4711_0.json", "node_0_1.json"}), Some({0, 1})) << "0 to 1 has no gap";
  EXPECT_EQ(ranksOf({"run/0/trace.json", "run/1/trace.json"}), Some({0, 1})) << "of the folders";
  EXPECT_EQ(ranksOf({"rank_1/trace.json", "rank_0/trace.json"}), Some({1, 0}));
}

TEST(RankNames, NumbersThatMayBeOfSomethingElseAreNoRanks) {
  const Some none = {std::nullopt, std::nullopt};
  EXPECT_EQ(ranksOf({"host_4711.12.pt.trace.json", "host_4712.13.pt.trace.json"}), none);
  EXPECT_EQ(ranksOf({"gpt-1.json", "gpt-2.json"}), none) << "they do not count from 0";
  EXPECT_EQ(ranksOf({"gpt-0.json", "gpt-0_b.json"}), none);
  EXPECT_EQ(ranksOf({"gpt-0.json", "truth.json", "gpt-1.json"}), Some({0, std::nullopt, 1}));
  EXPECT_EQ(ranksOf({"a0_1.json", "a1_0.json"}), none) << "either may be the rank";
  EXPECT_EQ(ranksOf({"step0.json", "step1.json"}), none);
  EXPECT_EQ(ranksOf({"trace_step_0.json", "trace_step_100.json"}), none);
  EXPECT_EQ(ranksOf({"gpt-0.json"}), Some({std::nullopt})) << "nothing to compare it with";
}

TEST(RankNames, TheHostIsReadFromNamesOfTorchsTraceHandler) {
  EXPECT_EQ(hostInName("a/node-1_4711.1754980773706849449.pt.trace.json"), "node-1");
  EXPECT_EQ(hostInName("my_node_2_17.1698925322189.pt.trace.json.gz"), "my_node_2");
  for (const char* name : {"worker0.1698925322189.pt.trace.json", "node_17.pt.trace.json",
                           "node_17.12.json", ".pt.trace.json", "_1.2.pt.trace.json"}) {
    EXPECT_EQ(hostInName(name), "") << name;
  }
}

}  // namespace
}  // namespace pipetrace
