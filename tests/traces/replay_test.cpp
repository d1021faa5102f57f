// Real runs that run again, nothing changed, are these runs to the nanosecond.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <string>

#include "analysis/run_summary.h"
#include "analysis/what_if/run_again.h"
#include "parser/load_timeline.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

class Replay : public testing::TestWithParam<const char*> {};

TEST_P(Replay, ARealRunThatRunsAgainIsTheRun) {
  const fs::path input = fs::path(PIPETRACE_SOURCE_DIR) / "../shared/data" / GetParam();
  if (!fs::exists(input)) GTEST_SKIP() << input << " is not there";
  Diagnostics diagnostics;
  Timeline timeline = loadTimeline({input.string()}, {.threads = 1}, diagnostics);
  completeTimeline(timeline, diagnostics);
  const Topology topology = topologyOf(timeline);
  const JobGraph graph(timeline, topology);
  const CountedSteps all;
  const RunAgain again(timeline, topology, graph, all);
  ASSERT_GT(again.order().works().size(), 0U);
  EXPECT_EQ(largestDifference(timeline, again.run()), 0);
  std::size_t waiting = 0;
  for (RerunOrder::Index i = 0; i < again.order().works().size(); ++i) {
    waiting += again.order().waits(i).empty() ? 0 : 1;
  }
  EXPECT_GT(waiting, again.order().works().size() / 2) << "it is no list of fixed times";
}

INSTANTIATE_TEST_SUITE_P(SharedData, Replay,
                         testing::Values("straggler_study/timeline-ST.json.gz", "megatronapp",
                                         "message_order/traces", "two_replicas",
                                         "kineto_nccl.json.gz"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase_if(name, [](char c) { return !std::isalnum(c); });
                           return name;
                         });

}  // namespace
}  // namespace pipetrace
