#include "chart/search/parse_query.h"

#include <gmock/gmock.h>

#include "trace/bubble_class.h"
#include "trace/error.h"
#include "trace/job_kind.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string problemOf(const std::string& text) {
  try {
    parseQuery(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ParseQueryTest, NumbersAreSingleOnesListsAndSpans) {
  const SearchQuery query = parseQuery("step:3..5 rank:0,2,8.. mb:..4");
  for (const auto& [step, isAllowed] : {std::pair{2, false}, {3, true}, {5, true}, {6, false}}) {
    EXPECT_EQ(allows(query.steps, step), isAllowed) << step;
  }
  for (const auto& [rank, isAllowed] :
       {std::pair{0, true}, {1, false}, {2, true}, {7, false}, {8, true}, {5000, true}}) {
    EXPECT_EQ(allows(query.ranks, rank), isAllowed) << rank;
  }
  EXPECT_TRUE(allows(query.microBatches, 0));
  EXPECT_FALSE(allows(query.microBatches, kNsMax));
  EXPECT_FALSE(allows(query.microBatches, -1)) << "a job without a micro-batch";
  EXPECT_TRUE(allows(query.stages, 77)) << "not given";
}

TEST(ParseQueryTest, FactorsOfOwnTimeAreSpans) {
  EXPECT_EQ(parseQuery("own:1.1x..").own->first, 1.1);
  EXPECT_TRUE(parseQuery("own:1.1x..").own->contains(1000));
  EXPECT_FALSE(parseQuery("own:1.1x..2x").own->contains(2.01));
  EXPECT_TRUE(parseQuery("own:..0.9").own->contains(0.2));
  EXPECT_FALSE(parseQuery("forward").own);
  for (const char* wrong :
       {"own:1.1x", "own:..", "own:2x..1x", "own:a..b", "own:-1x..", "own:x.."}) {
    EXPECT_THAT(problemOf(wrong), HasSubstr("write own:1.1x..")) << wrong;
  }
}

TEST(ParseQueryTest, WordsAndQuotesAreTexts) {
  EXPECT_THAT(parseQuery("  Forward \"my Kernel\"  \"a:b\" ").words,
              ElementsAre("forward", "my kernel", "a:b"));
  EXPECT_THAT(parseQuery("lane:\"Gloo 3\",send name:NCCL").lanes, ElementsAre("gloo 3", "send"));
  EXPECT_THAT(parseQuery("name:\"a b\"").names, ElementsAre("a b"));
  EXPECT_TRUE(parseQuery("   ").words.empty());
}

TEST(ParseQueryTest, KindsAndClassesAreThoseOfTheLog) {
  for (int kind = 0; kind < kJobKindCount; ++kind) {
    const std::string name(logName(static_cast<JobKind>(kind)));
    EXPECT_EQ(parseQuery("KIND:" + name).kinds, 1U << static_cast<unsigned>(kind)) << name;
  }
  for (int i = 1; i < kBubbleClassCount; ++i) {
    const std::string name(bubbleClassName(static_cast<BubbleClass>(i)));
    EXPECT_EQ(parseQuery("class:" + name).classes, 1U << static_cast<unsigned>(i)) << name;
  }
  EXPECT_EQ(parseQuery("kind:lr,forward").kinds, 3U);
  EXPECT_EQ(parseQuery("phase:evaluate").phases, 2U);
  EXPECT_EQ(parseQuery("phase:training,predict").phases, 5U);
  EXPECT_THAT(problemOf("phase:eval"), HasSubstr("choose training, evaluate, predict"));
}

TEST(ParseQueryTest, TimesHaveUnits) {
  EXPECT_EQ(parseQuery("longer:2ms").longerThan, 2 * kNsPerMs);
  EXPECT_EQ(parseQuery("longer:\"2.5 us\"").longerThan, 2500);
  EXPECT_EQ(parseQuery("shorter:1.5s").shorterThan, 1'500'000'000);
  EXPECT_EQ(parseQuery("at:401.5ms").at, 401'500'000);
  EXPECT_EQ(parseDuration("3µs"), 3000);
  EXPECT_EQ(parseDuration("17 ns"), 17);
  EXPECT_EQ(parseDuration("2min"), 120 * kNsPerSecond);
  EXPECT_FALSE(parseDuration("12"));
  EXPECT_FALSE(parseDuration("ms"));
}

TEST(ParseQueryTest, AProblemNamesTheWordAndWhatCanBeWritten) {
  EXPECT_THAT(problemOf("forward stepp:3"),
              AllOf(HasSubstr("'stepp:3'"), HasSubstr("step, rank, mb"), HasSubstr("quotes")));
  EXPECT_THAT(problemOf("kind:fwd"),
              AllOf(HasSubstr("'kind:fwd'"), HasSubstr("forward, backward, backward_input")));
  EXPECT_THAT(problemOf("class:slow"), AllOf(HasSubstr("'slow'"), HasSubstr("imbalance")));
  EXPECT_THAT(problemOf("rank:x"), AllOf(HasSubstr("'rank:x'"), HasSubstr("rank:3..5")));
  for (const char* bad : {"step:5..3", "step:..", "step:1,,2", "step:3x", "mb:1-3"}) {
    EXPECT_THAT(problemOf(bad), HasSubstr("is no number")) << bad;
  }
  EXPECT_THAT(problemOf("longer:2"), AllOf(HasSubstr("'longer:2'"), HasSubstr("ns, us, ms, s")));
  EXPECT_THAT(problemOf("step:"), HasSubstr("'step:' has no value"));
  EXPECT_THAT(problemOf(":3"), HasSubstr("':3'"));
  EXPECT_THAT(problemOf("\"open"), HasSubstr("has no end"));
}

}  // namespace
}  // namespace pipetrace
