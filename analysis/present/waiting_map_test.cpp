#include "analysis/present/waiting_map.h"

#include <gmock/gmock.h>

#include "analysis/present/page/run_page.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/hybrid_run.h"

namespace pipetrace {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// Rank 0 waits 1.25 ms for rank 1 in each layer of a forward, and 2.5 ms in one of a backward; in
/// the second step it waits for nobody.
HybridRun runWithSlowRank() {
  HybridRun run;
  run.kernel = [](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    return kernel.rank == 1 && kernel.step != 1 ? usual * 5 / 4 : usual;
  };
  return run;
}

TEST(WaitingMapsTest, AreOfAStepByPlaceMicroBatchAndStep) {
  HybridRun made = runWithSlowRank();
  const auto run = explainRun(made.timeline(), {});
  const std::vector<WaitingMap> maps = waitingMaps(run.inside);
  ASSERT_THAT(maps, SizeIs(3));

  EXPECT_EQ(maps[0].title, "waiting by place in the job");
  EXPECT_THAT(maps[0].columns, ElementsAre("forward\u00a01", "forward\u00a02", "backward\u00a01",
                                           "backward\u00a02"));
  ASSERT_THAT(maps[0].rows, SizeIs(4));
  const Nanoseconds wait = made.microBatches * made.layer / 4;  // of a layer's forwards in a step
  // Two of three steps have it.
  const std::vector<Nanoseconds> known = {wait * 2 / 3, wait * 2 / 3, wait * 4 / 3, wait * 4 / 3};
  EXPECT_EQ(maps[0].rows[0].waiting, known);
  EXPECT_THAT(maps[0].rows[1].waiting, Each(0));
  EXPECT_EQ(maps[0].longest, wait * 4 / 3);

  EXPECT_EQ(maps[1].title, "waiting by micro-batch");
  EXPECT_THAT(maps[1].columns, SizeIs(4));
  const Nanoseconds ofMicroBatch = made.layers * 3 * made.layer / 4;
  EXPECT_THAT(maps[1].rows[0].waiting, Each(ofMicroBatch * 2 / 3));

  EXPECT_EQ(maps[2].title, "waiting by step");
  EXPECT_THAT(maps[2].columns, ElementsAre("step\u00a00", "step\u00a01", "step\u00a02"));
  EXPECT_EQ(maps[2].rows[0].waiting, made.waits.at(0));
}

TEST(WaitingMapsTest, OfARunInWhichNobodyWaitsAreNone) {
  HybridRun made;
  EXPECT_THAT(waitingMaps(explainRun(made.timeline(), {}).inside), IsEmpty());
  EXPECT_THAT(waitingMaps({}), IsEmpty());
}

TEST(WaitingMapsTest, ThePageShowsThem) {
  HybridRun made = runWithSlowRank();
  const auto run = explainRun(made.timeline(), {});
  const Diagnostics none;
  const std::string page = runPage({run, none}, {});
  for (const WaitingMap& map : waitingMaps(run.inside)) {
    EXPECT_THAT(page, HasSubstr("<summary>" + map.title + "</summary>"));
  }
  HybridRun other;
  EXPECT_THAT(runPage({explainRun(other.timeline(), {}), none}, {}),
              Not(HasSubstr("<summary>waiting")));
}

}  // namespace
}  // namespace pipetrace
