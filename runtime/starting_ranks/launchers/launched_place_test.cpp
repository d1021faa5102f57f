#include "runtime/starting_ranks/launchers/launched_place.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;

using Environment = std::map<std::string, std::string>;

LaunchedPlace placeIn(const Environment& environment, int ranks = 4,
                      const std::string& master = "") {
  const Variables variables = [&](const std::string& name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  return launchedPlace(variables, ranks, master);
}

std::string errorIn(const Environment& environment, const std::string& master = "") {
  try {
    placeIn(environment, 4, master);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// As srun of Slurm 22.05 sets them, for a step on two nodes of a job's three.
const Environment kSlurm = {{"SLURM_PROCID", "3"},
                            {"SLURM_NTASKS", "4"},
                            {"SLURM_LOCALID", "1"},
                            {"SLURM_NODEID", "1"},
                            {"SLURM_TASKS_PER_NODE", "2(x2)"},
                            {"SLURM_JOB_ID", "417"},
                            {"SLURM_STEP_ID", "2"},
                            {"SLURM_JOB_NODELIST", "a[07-08],b"}};

TEST(LaunchedPlaceTest, SlurmSaysThePlaceAndTheMasterIsItsFirstHost) {
  const LaunchedPlace place = placeIn(kSlurm);
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.ranks, 4);
  EXPECT_EQ(place.localRank, 1);
  EXPECT_EQ(place.localRanks, 2);
  EXPECT_EQ(place.masterAddress, "a07");
  EXPECT_EQ(place.masterPort, slurmPort(417, 2));
  EXPECT_EQ(place.job, "slurm-417.2");
  EXPECT_EQ(place.restart, 0);
}

TEST(LaunchedPlaceTest, AStepOnSomeNodesOfAJobHasItsMasterAmongThem) {
  Environment step = kSlurm;
  step["SLURM_STEP_NODELIST"] = "b";
  EXPECT_EQ(placeIn(step).masterAddress, "b");
}

TEST(LaunchedPlaceTest, ARequeuedJobIsARestart) {
  Environment again = kSlurm;
  again["SLURM_RESTART_COUNT"] = "2";
  EXPECT_EQ(placeIn(again).restart, 2);
}

TEST(LaunchedPlaceTest, VariablesThatSlurmHasNotSetAreNamed) {
  Environment outside = kSlurm;
  outside.erase("SLURM_STEP_ID");
  EXPECT_THAT(errorIn(outside), HasSubstr("SLURM_PROCID is set and SLURM_STEP_ID is not"));
  Environment nowhere = kSlurm;
  nowhere.erase("SLURM_STEP_NODELIST");
  nowhere.erase("SLURM_JOB_NODELIST");
  EXPECT_THAT(errorIn(nowhere),
              HasSubstr("SLURM_STEP_NODELIST and SLURM_JOB_NODELIST are not set; give --master"));
  nowhere["SLURM_NODELIST"] = "n[3-4]";
  EXPECT_EQ(placeIn(nowhere).masterAddress, "n3");
}

TEST(LaunchedPlaceTest, NodesOfSlurmMayHaveDifferentNumbersOfTasks) {
  Environment uneven = kSlurm;
  uneven["SLURM_TASKS_PER_NODE"] = "1,3";
  EXPECT_EQ(placeIn(uneven).localRanks, 3);
  uneven["SLURM_TASKS_PER_NODE"] = "4";
  EXPECT_THAT(errorIn(uneven), HasSubstr("SLURM_TASKS_PER_NODE = '4'"));
}

TEST(LaunchedPlaceTest, StepsOfAJobAndJobsInARowHavePortsOfTheirOwn) {
  std::set<int> ports;
  for (long long job = 1'000'000; job < 1'000'100; ++job) {
    for (long long step = 0; step < 97; ++step) ports.insert(slurmPort(job, step));
  }
  EXPECT_EQ(ports.size(), 100U * 97U);
  EXPECT_GE(*ports.begin(), 10'240);
  EXPECT_LT(*ports.rbegin(), 32'768) << "the system gives those from there on to others";
  EXPECT_EQ(slurmPort(417, 2), slurmPort(417, 2));
  EXPECT_GE(slurmPort(1LL << 40, (1LL << 32) - 5), 10'240);
}

TEST(LaunchedPlaceTest, MpirunSaysThePlaceAndNeedsAMaster) {
  const Environment openMpi = {{"OMPI_COMM_WORLD_RANK", "2"},
                               {"OMPI_COMM_WORLD_SIZE", "4"},
                               {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                               {"PMIX_RANK", "2"},
                               {"PMIX_NAMESPACE", "prterun-h0-12@1"}};
  EXPECT_THAT(errorIn(openMpi), HasSubstr("give --master HOST:PORT"));
  const LaunchedPlace place = placeIn(openMpi, 4, "h0:29500");
  EXPECT_EQ(place.rank, 2);
  EXPECT_EQ(place.localRank, 0);
  EXPECT_EQ(place.localRanks, 2);
  EXPECT_EQ(place.masterAddress, "h0");
  EXPECT_EQ(place.masterPort, 29500);
  EXPECT_EQ(place.job, "prterun-h0-12_1");
  EXPECT_EQ(placeIn({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}, 4, "::1:29500").masterAddress, "::1");
  const LaunchedPlace pmix = placeIn({{"PMIX_RANK", "3"}}, 4, "h0:1");
  EXPECT_EQ(pmix.rank, 3);
  EXPECT_EQ(pmix.ranks, 4) << "PMIx does not say it, so it is the plan's";
}

TEST(LaunchedPlaceTest, MpirunInAJobOfSlurmCounts) {
  Environment both = kSlurm;
  both["OMPI_COMM_WORLD_RANK"] = "0";
  both["OMPI_COMM_WORLD_SIZE"] = "4";
  EXPECT_EQ(placeIn(both, 4, "h0:29500").rank, 0);
}

TEST(LaunchedPlaceTest, APodOfAnIndexedJobIsARankOnAHostOfItsOwn) {
  const LaunchedPlace place = placeIn({{"JOB_COMPLETION_INDEX", "3"}}, 4, "train-0.train:29500");
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.ranks, 4);
  EXPECT_EQ(place.localRank, 0);
  EXPECT_EQ(place.localRanks, 1);
}

TEST(LaunchedPlaceTest, TorchrunSaysAll) {
  const LaunchedPlace place = placeIn({{"RANK", "1"},
                                       {"WORLD_SIZE", "4"},
                                       {"LOCAL_RANK", "1"},
                                       {"LOCAL_WORLD_SIZE", "2"},
                                       {"MASTER_ADDR", "h3"},
                                       {"MASTER_PORT", "29400"},
                                       {"TORCHELASTIC_RESTART_COUNT", "1"}});
  EXPECT_EQ(place.rank, 1);
  EXPECT_EQ(place.localRanks, 2);
  EXPECT_EQ(place.masterAddress, "h3");
  EXPECT_EQ(place.masterPort, 29400);
  EXPECT_EQ(place.restart, 1);
}

TEST(LaunchedPlaceTest, PlacesThatDoNotFitAreRefused) {
  EXPECT_THAT(errorIn({}), HasSubstr("no launcher has started this process"));
  Environment wrong = kSlurm;
  wrong["SLURM_NTASKS"] = "8";
  EXPECT_THAT(errorIn(wrong), HasSubstr("Slurm has started 8 processes, but the plan has 4 ranks"));
  wrong = kSlurm;
  wrong["SLURM_PROCID"] = "4";
  EXPECT_THAT(errorIn(wrong), HasSubstr("process 4 of 4"));
  wrong["SLURM_PROCID"] = "x";
  EXPECT_THAT(errorIn(wrong), HasSubstr("SLURM_PROCID = 'x' is no number"));
  for (const char* const master : {"h0", "h0:", ":1", "h0:0", "h0:65536", "h0:1x"}) {
    EXPECT_THAT(errorIn(kSlurm, master), HasSubstr("is no HOST:PORT")) << master;
  }
}

}  // namespace
}  // namespace pipetrace
