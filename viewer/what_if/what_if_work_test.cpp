#include "viewer/what_if/what_if_work.h"

#include <gmock/gmock.h>

#include <QTest>

#include "analysis/present/what_if_report.h"
#include "viewer/testing/asked_run.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;
using testing::Lt;

/// The work on a run, and what came of it.
struct Asked {
  explicit Asked(std::shared_ptr<const LoadedProfile> profile) : profile(std::move(profile)) {
    QObject::connect(&work, &WhatIfWork::previewed, &work,
                     [this](const auto& result) { previews.push_back(result); });
    QObject::connect(&work, &WhatIfWork::answered, &work,
                     [this](const auto& result) { answers.push_back(result); });
    QObject::connect(&work, &WhatIfWork::advised, &work,
                     [this](const auto& list) { advice = list; });
    QObject::connect(&work, &WhatIfWork::refused, &work,
                     [this](const QString& why) { refusal = why.toStdString(); });
    work.open(this->profile);
  }

  bool awaitFacts() {
    return QTest::qWaitFor([&] { return work.facts() != nullptr; }, 20'000);
  }
  bool awaitAnswer() {
    return QTest::qWaitFor([&] { return !answers.empty(); }, 20'000);
  }

  std::shared_ptr<const LoadedProfile> profile;
  WhatIfWork work;
  std::vector<std::shared_ptr<const PreviewResult>> previews;
  std::vector<std::shared_ptr<const AnswerResult>> answers;
  std::shared_ptr<const AdviceList> advice;
  std::string refusal;
};

TEST(WhatIfWorkTest, OfManyPreviewsInARowTheLastOneComes) {
  Asked asked(askedRun("1F1B", 3, 64));
  ASSERT_TRUE(asked.awaitFacts());
  constexpr int kMany = 60;
  WhatIfChanges changes;
  for (int i = 1; i <= kMany; ++i) {
    changes.stages[1] = 1'000'000'000 - i * 1'000'000;
    asked.work.preview(changes);
  }
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return !asked.previews.empty() && asked.previews.back()->changes == changes; },
      20'000));
  EXPECT_THAT(asked.previews.size(), Lt(kMany)) << "those between are left out";
  EXPECT_EQ(asked.previews.back()->problem, "");
  EXPECT_LT(asked.previews.back()->preview.change(), 0);
}

TEST(WhatIfWorkTest, AnAnswerIsThatOfWhatIfToTheNanosecond) {
  for (const char* text : {"--scale stage=1:0.7 --link 2-3=0.1ms", "--schedule ZB-H1 --chunks 1",
                           "--schedule auto --limit-activations 4", "--balance stages"}) {
    Asked asked(askedRun());
    const WhatIfChanges changes = WhatIfChanges::of(text);
    asked.work.answer(changes);
    EXPECT_TRUE(asked.work.isAnswering());
    ASSERT_TRUE(asked.awaitAnswer());
    EXPECT_FALSE(asked.work.isAnswering());
    const AnswerResult& result = *asked.answers.back();
    ASSERT_EQ(result.problem, "") << text;
    const WhatIfAnswer direct = whatIf(asked.profile->run(), changes.question());
    EXPECT_EQ(whatIfJson({result.answer, changes.asked()}), whatIfJson({direct, changes.asked()}));
    ASSERT_NE(result.run, nullptr);
    EXPECT_EQ(largestDifference(direct.run.timeline(), result.run->run().timeline()), 0);
  }
}

TEST(WhatIfWorkTest, AChangeThatTheRunCannotHaveIsAnsweredWithTheReason) {
  Asked asked(askedRun());
  asked.work.answer(WhatIfChanges::of("--scale stage=7:0.5"));
  ASSERT_TRUE(asked.awaitAnswer());
  EXPECT_THAT(asked.answers.back()->problem.toStdString(), HasSubstr("--scale stage=7:0.5"));
  EXPECT_EQ(asked.answers.back()->run, nullptr);
}

TEST(WhatIfWorkTest, OfAnAsynchronousRunTheAnswerIsAboutTheWholeRun) {
  Asked asked(askedRun("PipeDream"));
  ASSERT_TRUE(asked.awaitFacts());
  EXPECT_THAT(asked.work.facts()->noPreview, HasSubstr("asynchronous"));
  asked.work.answer(WhatIfChanges::of("--scale stage=1:0.7"));
  ASSERT_TRUE(asked.awaitAnswer());
  EXPECT_EQ(asked.answers.back()->problem, "");
  EXPECT_TRUE(asked.answers.back()->answer.isWholeRun);
  EXPECT_LT(asked.answers.back()->answer.change(), 0);
}

TEST(WhatIfWorkTest, AnAnswerThatIsCancelledNeverComes) {
  Asked asked(askedRun("1F1B", 40, 64));
  asked.work.answer(WhatIfChanges::of("--scale stage=1:0.7"));
  asked.work.cancelAnswer();
  EXPECT_FALSE(asked.work.isAnswering());
  asked.work.answer(WhatIfChanges::of("--scale stage=1:0.8"));
  ASSERT_TRUE(asked.awaitAnswer());
  QTest::qWait(50);
  ASSERT_EQ(asked.answers.size(), 1U);
  EXPECT_EQ(asked.answers.back()->changes.text(), "--scale stage=1:0.8");
}

TEST(WhatIfWorkTest, ARunThatIsClosedWhileItIsAskedSaysNothingMore) {
  Asked asked(askedRun("1F1B", 40, 64));
  asked.work.answer(WhatIfChanges::of("--scale stage=1:0.7"));
  asked.work.advise();
  const std::weak_ptr<const LoadedProfile> profile = asked.profile;
  asked.profile.reset();
  asked.work.open(nullptr);
  EXPECT_FALSE(asked.work.isOpen());
  EXPECT_TRUE(QTest::qWaitFor([&] { return profile.expired(); }, 20'000)) << "nobody keeps it";
  EXPECT_TRUE(asked.answers.empty());
  EXPECT_EQ(asked.advice, nullptr);
  EXPECT_EQ(asked.work.facts(), nullptr);
  EXPECT_EQ(asked.refusal, "");
}

TEST(WhatIfWorkTest, AdviceIsThatOfAdvise) {
  Asked asked(askedRun());
  asked.work.advise();
  ASSERT_TRUE(QTest::qWaitFor([&] { return asked.advice != nullptr; }, 20'000));
  const AdviceList direct = adviceOn(asked.profile->run(), {});
  ASSERT_EQ(asked.advice->best.size(), direct.best.size());
  ASSERT_FALSE(direct.best.empty());
  for (std::size_t i = 0; i < direct.best.size(); ++i) {
    EXPECT_EQ(asked.advice->best[i].what, direct.best[i].what);
    EXPECT_EQ(asked.advice->best[i].step, direct.best[i].step);
  }
}

}  // namespace
}  // namespace pipetrace
