// The slowdowns of the straggler study's real job are those of its own result. Those of made-up
// jobs are those of a prototype in Python, which was written from the study's text, apart from this
// code.
#include <gmock/gmock.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "analysis/causes/slowdown.h"
#include "analysis/run_summary.h"
#include "parser/testing/load_timeline.h"
#include "tests/traces/made_up_study.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Slowdown slowdownOfFile(const fs::path& file, const std::vector<std::int32_t>& steps,
                        int threads = 1) {
  Diagnostics diagnostics;
  Timeline timeline = test::loadTimeline({file.string()}, {.threads = 1}, diagnostics);
  completeTimeline(timeline, diagnostics);
  const Topology topology = topologyOf(timeline);
  const JobGraph graph(timeline, topology);
  return slowdownOf(timeline, graph, topology, steps, threads);
}

TEST(StragglerStudy, ResultOfTheRealJobIsTheStudysOwn) {
  const fs::path folder = fs::path(test::inSources("../shared/data/straggler_study"));
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const auto read = [&](const char* name) {
    std::ifstream file(folder / name);
    return nlohmann::json::parse(file);
  };
  const auto result = read("result-ST.json");
  std::vector<std::int32_t> steps;
  for (const auto& [step, length] : result["step_t_base"].items()) {
    steps.push_back(std::stoi(step));
  }
  const Slowdown slowdown = slowdownOfFile(folder / "timeline-ST.json.gz", steps, 2);
  ASSERT_EQ(slowdown.reason, "");
  EXPECT_EQ(slowdown.steps.size(), 32U);
  const auto expectClose = [](double actual, double expected, const std::string& what,
                              double tolerance = 1e-5) {
    EXPECT_NEAR(actual, expected, tolerance * std::abs(expected)) << what;
  };
  const auto worst = read("mw-ST.json");
  const auto stage = read("ms-ST.json");
  expectClose(slowdown.tSim / 1e9, worst["tori"], "simulated");
  expectClose(slowdown.tIdeal / 1e9, worst["tideal"], "ideal");
  expectClose(slowdown.total, result["blocking_slowdown"], "slowdown");
  // The file lacks the first moments of a step.
  expectClose(slowdown.launch, result["launch_slowdown"], "launch", 1e-4);
  expectClose(slowdown.mS.value(), stage["Ms"], "M_S");
  expectClose(slowdown.mW.value(), worst["Mw"], "M_W", 1e-4);
  const auto expectAll = [&](const auto& actual, const char* key, const auto& textOf) {
    EXPECT_EQ(actual.size(), result[key].size()) << key;
    for (const auto& [name, value] : actual) {
      ASSERT_TRUE(result[key].contains(textOf(name))) << textOf(name);
      expectClose(value, result[key][textOf(name)], textOf(name));
    }
  };
  const auto number = [](int n) { return std::to_string(n); };
  expectAll(slowdown.byStage, "blocking_decompose_by_stage", number);
  expectAll(slowdown.byReplica, "blocking_decompose_by_dp_rank", number);
  expectAll(slowdown.byKind, "blocking_decompose_by_optype", [](auto name) { return name; });
}

const std::vector<int> kAllSteps{5, 7, 12, 30, 41};
const std::vector<std::int32_t> kUsedSteps{5, 12, 30, 41};

struct Case {
  std::string name;
  test::MadeUpStudy study;
  double tSim = 0;  // s
  double tIdeal = 0;
  double total = 0;
  double launch = 0;
  double mS = 0;
  double mW = 0;
  std::vector<int> worst;
  std::map<int, double> byStage;
  std::map<int, double> byReplica;
  std::map<std::string, double> byKind;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class MadeUpStudyFile {
 public:
  explicit MadeUpStudyFile(const std::string& text) { std::ofstream(path_) << text; }
  ~MadeUpStudyFile() { fs::remove(path_); }
  MadeUpStudyFile(const MadeUpStudyFile&) = delete;
  MadeUpStudyFile& operator=(const MadeUpStudyFile&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_ =
      fs::temp_directory_path() / ("made up study " + std::to_string(::getpid()) + ".json");
};

class MadeUpJob : public testing::TestWithParam<Case> {};

TEST_P(MadeUpJob, HasTheSlowdownsOfThePrototype) {
  const Case& c = GetParam();
  const MadeUpStudyFile file(test::toJson(c.study));
  constexpr double kClose = 2e-8;  // the prototype's digits, and float microseconds
  for (const int threads : {1, 3}) {
    const Slowdown slowdown = slowdownOfFile(file.path(), kUsedSteps, threads);
    ASSERT_EQ(slowdown.reason, "");
    EXPECT_EQ(slowdown.steps, kUsedSteps);
    EXPECT_NEAR(slowdown.tSim / 1e9, c.tSim, 1e-9);
    EXPECT_NEAR(slowdown.tIdeal / 1e9, c.tIdeal, 1e-9);
    EXPECT_NEAR(slowdown.total, c.total, kClose);
    EXPECT_NEAR(slowdown.launch, c.launch, kClose);
    EXPECT_NEAR(slowdown.mS.value(), c.mS, kClose);
    EXPECT_NEAR(slowdown.mW.value(), c.mW, kClose);
    EXPECT_EQ(slowdown.worstRanks, c.worst);
    const auto expectAll = [&](const auto& actual, const auto& expected) {
      ASSERT_EQ(actual.size(), expected.size());
      for (const auto& [key, value] : expected) EXPECT_NEAR(actual.at(key), value, kClose) << key;
    };
    expectAll(slowdown.byStage, c.byStage);
    expectAll(slowdown.byReplica, c.byReplica);
    expectAll(slowdown.byKind, c.byKind);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, MadeUpJob,
    testing::Values(
        Case{.name = "SlowStageInTheMiddle",
             .study = {.replicas = 3,
                       .positions = 4,
                       .microBatches = 6,
                       .steps = kAllSteps,
                       .slowStage = 1,
                       .seed = 1,
                       .rankStride = 1},
             .tSim = 0.031435567,
             .tIdeal = 0.029116133,
             .total = 1.079661497,
             .launch = 2.108135387,
             .mS = -0.197058620,
             .mW = 0.376262153,
             .worst = {4},
             .byStage = {{0, 1.024343785}, {1, 1.101993056}, {2, 0.994530946}, {3, 0.988000036}},
             .byReplica = {{0, 1.039515366}, {1, 1.078968436}, {2, 1.036216446}},
             .byKind = {{"backward-compute", 1.035989319},
                        {"backward-pp-comm", 1.017812805},
                        {"embedding-grads-all-reduce", 1.004062361},
                        {"forward-compute", 1.013438276},
                        {"forward-pp-comm", 1.017745136},
                        {"gc", 0.999935603},
                        {"grads-reduce-scatter", 1.000771179},
                        {"layernorm-grads-all-reduce", 1.000162187},
                        {"optimizer", 1.003890217},
                        {"optimizer-clip-main-grad", 1.000760412},
                        {"params-all-gather", 0.998831747}}},
        Case{.name = "TwoOfFortyRanksAreTheWorst",
             .study = {.replicas = 20,
                       .positions = 2,
                       .microBatches = 3,
                       .steps = kAllSteps,
                       .slowStage = 0,
                       .seed = 2,
                       .rankStride = 1},
             .tSim = 0.022066763,
             .tIdeal = 0.019144489,
             .total = 1.152643139,
             .launch = 1.916649705,
             .mS = -0.262521000,
             .mW = 0.235817484,
             .worst = {2, 13},
             .byStage = {{0, 1.192715168}, {1, 1.010146320}},
             .byReplica = {{0, 1.060792432},  {1, 1.062689857},  {2, 1.143854077},
                           {3, 1.057530383},  {4, 1.060021165},  {5, 1.058376157},
                           {6, 1.060721967},  {7, 1.098582019},  {8, 1.056895989},
                           {9, 1.058530606},  {10, 1.057818625}, {11, 1.057699823},
                           {12, 1.054057904}, {13, 1.118325803}, {14, 1.057163685},
                           {15, 1.056414430}, {16, 1.059024825}, {17, 1.056238066},
                           {18, 1.109377658}, {19, 1.056381528}},
             .byKind = {{"backward-compute", 1.055054765},
                        {"backward-pp-comm", 1.018205161},
                        {"embedding-grads-all-reduce", 1.011061552},
                        {"forward-compute", 1.021599851},
                        {"forward-pp-comm", 1.013069780},
                        {"gc", 1.001547443},
                        {"grads-reduce-scatter", 1.054606734},
                        {"layernorm-grads-all-reduce", 1.000462640},
                        {"optimizer", 1.007667552},
                        {"optimizer-clip-main-grad", 1.001227912},
                        {"params-all-gather", 1.003807453}}},
        Case{.name = "RanksWithGaps",
             .study = {.replicas = 2,
                       .positions = 8,
                       .microBatches = 12,
                       .steps = kAllSteps,
                       .slowStage = 5,
                       .seed = 6,
                       .rankStride = 3},
             .tSim = 0.058423936,
             .tIdeal = 0.052101039,
             .total = 1.121358354,
             .launch = 1.956068096,
             .mS = 0.043963259,
             .mW = 0.081189769,
             .worst = {30},
             .byStage = {{0, 0.999921684},
                         {1, 0.998779494},
                         {2, 0.996889315},
                         {3, 0.997466951},
                         {4, 1.025701797},
                         {5, 1.127308399},
                         {6, 0.995187336},
                         {7, 1.033098130}},
             .byReplica = {{0, 1.111893879}, {1, 1.111076904}},
             .byKind = {{"backward-compute", 1.065273496},
                        {"backward-pp-comm", 1.007691113},
                        {"embedding-grads-all-reduce", 1.002216947},
                        {"forward-compute", 1.020031856},
                        {"forward-pp-comm", 1.017216732},
                        {"gc", 1.000152948},
                        {"grads-reduce-scatter", 1.000184161},
                        {"layernorm-grads-all-reduce", 0.999984290},
                        {"optimizer", 1.002674458},
                        {"optimizer-clip-main-grad", 1.000465221},
                        {"params-all-gather", 1.000654248}}}),
    [](const auto& each) { return each.param.name; });

TEST(StragglerStudy, StepsThatAreNotNamedChangeEveryNumber) {
  const MadeUpStudyFile file(
      test::toJson({.replicas = 2, .positions = 2, .microBatches = 4, .steps = kAllSteps}));
  const Slowdown used = slowdownOfFile(file.path(), kUsedSteps);
  const Slowdown all = slowdownOfFile(file.path(), {});
  EXPECT_EQ(all.steps.size(), kAllSteps.size()) << "no step lacks jobs";
  EXPECT_GT(all.tIdeal, 1.1 * used.tIdeal) << "a long step is among them";
}

TEST(StragglerStudy, ChunksThatMessagesDoNotNameGiveAReason) {
  std::string text = test::toJson({.replicas = 1, .positions = 2, .microBatches = 4, .steps = {5}});
  const std::string first = R"("model_chunk":0,"mb_id":0)";
  text.replace(text.rfind(first), first.size(), R"("model_chunk":1,"mb_id":0)");
  const MadeUpStudyFile file(text);
  EXPECT_THAT(slowdownOfFile(file.path(), {}).reason, HasSubstr("do not name the chunks"));
}

TEST(StragglerStudy, AMissingRankGivesAReason) {
  std::string text = test::toJson({.replicas = 2, .positions = 2, .microBatches = 4, .steps = {5}});
  std::string kept;  // without the last rank, whose lanes have the tids from 15 on
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = text.substr(begin, end + 1 - begin);
    if (line.find(R"("tid":15,)") == std::string::npos &&
        line.find(R"("tid":16,)") == std::string::npos &&
        line.find(R"("tid":18,)") == std::string::npos) {
      kept += line;
    }
  }
  kept.erase(kept.rfind(','), 1);
  const MadeUpStudyFile file(kept);
  EXPECT_EQ(slowdownOfFile(file.path(), {}).reason, "ranks of some replicas are missing");
}

}  // namespace
}  // namespace pipetrace
