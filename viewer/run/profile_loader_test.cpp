#include "viewer/run/profile_loader.h"

#include <gtest/gtest.h>

#include <QTest>

#include "trace/event_arguments.h"
#include "viewer/testing/profile.h"
#include "viewer/testing/slow_input.h"

namespace pipetrace {
namespace {

/// The signals of a loader, in order.
class Listener : public QObject {
 public:
  explicit Listener(ProfileLoader& loader) {
    connect(&loader, &ProfileLoader::loaded, this, [this](const auto& profile) {
      shown = profile;
      said += profile->isClassified() ? "whole " : "picture ";
    });
    connect(&loader, &ProfileLoader::classified, this, [this] { said += "classes "; });
    connect(&loader, &ProfileLoader::explained, this, [this](const auto& found) {
      explanation = found;
      said += "reasons ";
    });
    connect(&loader, &ProfileLoader::failed, this, [this](const QString& message) {
      said += "failed ";
      error = message;
    });
  }
  bool hears(const QString& word) {
    return QTest::qWaitFor([&] { return said.contains(word + " "); }, 20'000);
  }

  std::shared_ptr<const LoadedProfile> shown;
  std::shared_ptr<const Explanation> explanation;
  QString said;
  QString error;
};

QStringList pathOf(const TestLogs& logs) { return {QString::fromStdString(logs.path())}; }

/// All that can be seen of the bubbles: place, class, culprit.
std::string bubblesOf(const Timeline& timeline) {
  std::string text;
  for (const Track& track : timeline.tracks) {
    if (track.lane != kBubbleLane) continue;
    for (const Event& event : track.events) {
      text += std::to_string(track.rank) + ": " + std::to_string(event.begin) + " " +
              std::to_string(event.end) + " " + std::string(bubbleClassName(event.bubbleClass));
      for (const Argument& argument : timeline.argumentsOf(event)) {
        text += " " + std::string(timeline.strings[argument.key]) + "=" +
                std::string(timeline.strings[argument.text]);
      }
      text += "\n";
    }
  }
  return text;
}

TEST(ProfileLoaderTest, ALargeRunComesInStages) {
  const TestLogs logs;
  ProfileLoader loader;
  loader.setStagedFrom(0);
  Listener listener(loader);
  const Event* job = nullptr;
  QObject::connect(&loader, &ProfileLoader::loaded, [&](const auto& profile) {
    job = &profile->model().rows()[0].lanes[0][2];
    EXPECT_EQ(profile->model().rows()[0].bubbles.size(), 0U);
  });
  loader.load(pathOf(logs), AlignBy::kBest);
  ASSERT_TRUE(listener.hears("picture"));
  const ChartModel& model = listener.shown->model();
  ASSERT_TRUE(listener.hears("reasons"));
  EXPECT_EQ(listener.said, "picture classes reasons ");
  EXPECT_EQ(&model.rows()[0].lanes[0][2], job) << "jobs stay where they were";
  const auto atOnce = loadProfile({logs.path()});
  EXPECT_EQ(bubblesOf(listener.shown->timeline()), bubblesOf(atOnce->timeline()));
  EXPECT_NE(bubblesOf(atOnce->timeline()).find("culprit="), std::string::npos);
  EXPECT_EQ(model.legend().size(), atOnce->model().legend().size());
  EXPECT_EQ(listener.shown->summary().bubbleRatio, atOnce->summary().bubbleRatio);
  for (std::size_t row = 0; row < model.rows().size(); ++row) {
    EXPECT_EQ(model.rows()[row].bubbles.size(), atOnce->model().rows()[row].bubbles.size());
  }
}

TEST(ProfileLoaderTest, ASmallRunComesWhole) {
  const TestLogs logs;
  ProfileLoader loader;
  Listener listener(loader);
  loader.load(pathOf(logs), AlignBy::kBest);
  ASSERT_TRUE(listener.hears("reasons"));
  EXPECT_EQ(listener.said, "whole reasons ");
}

TEST(ProfileLoaderTest, ACancelledProfileIsNeverLoaded) {
  ProfileLoader loader;
  Listener listener(loader);
  {
    const SlowInput slow;
    loader.load({slow.path()}, AlignBy::kBest);
    EXPECT_TRUE(loader.isBusy());
    QTest::qWait(50);
    loader.cancel();
    EXPECT_FALSE(loader.isBusy());
  }
  QTest::qWait(100);
  EXPECT_EQ(listener.said, "");
  const TestLogs logs;
  loader.load(pathOf(logs), AlignBy::kBest);
  EXPECT_TRUE(listener.hears("reasons"));
  EXPECT_EQ(listener.said, "whole reasons ");
}

TEST(ProfileLoaderTest, TheSecondOfTwoProfilesIsLoaded) {
  const SlowInput slow;
  const TestLogs logs({.ranks = 3});
  ProfileLoader loader;
  Listener listener(loader);
  loader.load({slow.path()}, AlignBy::kBest);
  QTest::qWait(50);
  loader.load(pathOf(logs), AlignBy::kBest);
  ASSERT_TRUE(listener.hears("whole"));
  EXPECT_EQ(listener.shown->model().rankCount(), 3U);
}

TEST(ProfileLoaderTest, AFailedSecondProfileLetsTheFirstGoOn) {
  const TestLogs logs({.ranks = 8, .steps = 60});
  ProfileLoader loader;
  loader.setStagedFrom(0);
  Listener listener(loader);
  loader.load(pathOf(logs), AlignBy::kBest);
  ASSERT_TRUE(QTest::qWaitFor([&] { return listener.shown != nullptr; }, 20'000));
  loader.load({"/nonexistent/profile.json"}, AlignBy::kBest);
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return listener.explanation && !listener.error.isEmpty(); }, 20'000));
  EXPECT_TRUE(listener.shown->isClassified());
}

TEST(ProfileLoaderTest, ProgressEndsWithAllBytes) {
  const TestLogs logs;
  ProfileLoader loader;
  Listener listener(loader);
  EXPECT_EQ(loader.progress().stage, LoadStage::kDone);
  loader.load(pathOf(logs), AlignBy::kBest);
  ASSERT_TRUE(listener.hears("reasons"));
  EXPECT_GE(loader.progress().bytesRead, loader.progress().bytesInAll);
  EXPECT_GT(loader.progress().bytesInAll, 10'000);
}

}  // namespace
}  // namespace pipetrace
