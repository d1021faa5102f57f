#include "viewer/run/run_watcher.h"

#include <gmock/gmock.h>

#include <QSignalSpy>
#include <QTest>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "trace/error.h"
#include "viewer/testing/growing_logs.h"
#include "viewer/testing/profile.h"

namespace pipetrace {
namespace {

using Identity = std::tuple<int, std::string, JobKind, Nanoseconds, Nanoseconds, std::int64_t>;

std::multiset<Identity> eventsOf(const Timeline& timeline) {
  std::multiset<Identity> events;
  for (const Track& track : timeline.tracks) {
    for (const Event& e : track.events) {
      events.insert({track.rank, track.lane, e.kind, e.begin, e.end, e.job});
    }
  }
  return events;
}

class RunWatcherTest : public testing::Test {
 protected:
  RunRequest request() const { return {.inputs = {live_.path()}}; }
  /// Waits for a profile with that many steps.
  std::shared_ptr<const LoadedProfile> profileWith(std::size_t steps) {
    std::shared_ptr<const LoadedProfile> profile;
    (void)QTest::qWaitFor(
        [&] {
          if (auto newer = watcher_.take()) profile = std::move(newer);
          return profile && profile->model().steps().size() >= steps;
        },
        20'000);
    return profile;
  }

  GrowingLogs live_{{.ranks = 3, .microBatches = 4, .steps = 6}};
  RunWatcher watcher_;
};

TEST_F(RunWatcherTest, ProfilesGrowWithTheLogsUpToTheWholeRun) {
  watcher_.start(request());
  QSignalSpy ended(&watcher_, &RunWatcher::ended);
  live_.growTo(2);
  const auto early = profileWith(1);
  ASSERT_NE(early, nullptr);
  EXPECT_LE(early->model().steps().size(), 2U);
  std::set<BubbleClass> classes;
  for (const Track& track : early->timeline().tracks) {
    for (const Event& event : track.events) {
      if (event.kind == JobKind::kBubble) classes.insert(event.bubbleClass);
    }
  }
  EXPECT_TRUE(classes.contains(BubbleClass::kDrain)) << "causes are known while the run goes on";
  EXPECT_FALSE(classes.contains(BubbleClass::kNone));
  live_.growTo(6);
  live_.close();
  ASSERT_TRUE(QTest::qWaitFor([&] { return ended.count() == 1; }, 20'000));
  EXPECT_EQ(ended.front().front().toString(), "");
  const auto last = profileWith(6);
  ASSERT_NE(last, nullptr);
  const auto whole = loadProfile({live_.path()}, AlignBy::kNone);
  EXPECT_EQ(eventsOf(last->timeline()), eventsOf(whole->timeline()));
  EXPECT_EQ(last->summary().bubbleRatio, whole->summary().bubbleRatio);
}

TEST_F(RunWatcherTest, RanksWithoutALogAreNamed) {
  std::filesystem::remove(live_.path() + "/workerlog.2");
  live_.growTo(1);
  std::filesystem::remove(live_.path() + "/workerlog.2");
  watcher_.start(request());
  QSignalSpy waits(&watcher_, &RunWatcher::waitsFor);
  ASSERT_TRUE(QTest::qWaitFor([&] { return waits.count() > 0; }, 20'000));
  EXPECT_EQ(waits.front().front().toString(), "rank 2");
  EXPECT_EQ(watcher_.take(), nullptr);
}

TEST_F(RunWatcherTest, NothingIsHeardAfterStop) {
  watcher_.start(request());
  live_.growTo(3);
  QSignalSpy grew(&watcher_, &RunWatcher::grew);
  watcher_.stop();
  QTest::qWait(50);
  EXPECT_EQ(grew.count(), 0);
  EXPECT_FALSE(watcher_.isRunning());
}

TEST_F(RunWatcherTest, AFolderThatIsNotThereIsRefused) {
  EXPECT_THROW(watcher_.start({.inputs = {"/nonexistent/logs"}}), Error);
  EXPECT_FALSE(watcher_.isRunning());
}

}  // namespace
}  // namespace pipetrace
