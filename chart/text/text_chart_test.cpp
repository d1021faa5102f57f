#include "chart/text/text_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "chart/testing/timelines.h"
#include "trace/error.h"
#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

/// 1F1B as the papers draw it: a forward one cell, a backward two.
Timeline papersRun(int steps = 1) {
  Timeline run = makeTestTimeline({.steps = steps,
                                   .forward = kNsPerMs,
                                   .backward = 2 * kNsPerMs,
                                   .hasTransfers = false,
                                   .hasBubbles = false});
  for (Track& track : run.tracks) {
    std::erase_if(track.events, [](const Event& event) { return !isCompute(event.kind); });
  }
  return run;
}

/// One job on the compute lane of a rank, in ms from 0.
struct Job {
  int rank = 0;
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  JobKind kind = JobKind::kForward;
  int microBatch = 0;
  int stage = 0;
  int chunk = 0;
  const char* action = nullptr;
};

Timeline timelineOf(const std::vector<Job>& jobs, Nanoseconds unit = kNsPerMs) {
  Timeline timeline;
  for (const Job& job : jobs) {
    Event event{.begin = job.begin * unit,
                .end = job.end * unit,
                .microBatch = job.microBatch,
                .stage = job.stage,
                .chunk = static_cast<std::int16_t>(job.chunk),
                .kind = job.kind};
    if (job.action != nullptr) {
      const Argument argument = Argument::ofText(timeline.strings.intern(log_format::kAction),
                                                 timeline.strings.intern(job.action));
      timeline.setArguments(event, {&argument, 1});
    }
    timeline.track(job.rank, kComputeLane).events.push_back(event);
    timeline.ranks[job.rank].rank = job.rank;
  }
  timeline.sort();
  return timeline;
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(TextChart, A1F1BRunIsDrawnAsInThePapers) {
  EXPECT_EQ(
      textChart(papersRun(), {.width = 120}),
      "       |0             |5 ms          |10 ms         |15 ms         |20 ms         |25 ms    "
      "     |30 ms\n"
      "rank 0 F0 F1 F2 F3 -- -- -- -- -- -- B0=== F4 B1=== F5 B2=== F6 B3=== F7 B4=== -- B5=== -- "
      "B6=== -- B7===\n"
      "rank 1 -- F0 F1 F2 -- -- -- -- B0=== F3 B1=== F4 B2=== F5 B3=== F6 B4=== F7 B5=== -- B6=== "
      "-- B7=== -- --\n"
      "rank 2 -- -- F0 F1 -- -- B0=== F2 B1=== F3 B2=== F4 B3=== F5 B4=== F6 B5=== F7 B6=== -- "
      "B7=== -- -- -- --\n"
      "rank 3 -- -- -- F0 B0=== F1 B1=== F2 B2=== F3 B3=== F4 B4=== F5 B5=== F6 B6=== F7 B7=== -- "
      "-- -- -- -- --\n"
      "F forward, B backward, - idle\n"
      "one cell is 1.000 ms\n");
}

TEST(TextChart, WithoutRoomForCellsTimeIsScaledToTheWidth) {
  const std::vector<std::string> lines = linesOf(textChart(papersRun(), {.width = 73}));
  // 66 columns for 33 ms: two for a forward, four for a backward.
  EXPECT_EQ(lines[1], "rank 0 F0F1F2F3------------B0= F4B1= F5B2= F6B3= F7B4= --B5= --B6= --B7=");
  EXPECT_EQ(lines[4], "rank 3 ------F0B0= F1B1= F2B2= F3B3= F4B4= F5B5= F6B6= F7B7= ------------");
  EXPECT_THAT(lines[0], HasSubstr("|10 ms"));
  EXPECT_EQ(lines.back(), "one column is 500.0 us");
}

TEST(TextChart, NoLineIsWiderThanTheGivenWidth) {
  for (int width = kMinTextChartWidth; width < 160; ++width) {
    for (const std::string& line : linesOf(textChart(papersRun(3), {.width = width}))) {
      EXPECT_LE(static_cast<int>(line.size()), width) << line;
      EXPECT_THAT(line, Not(EndsWith(" ")));
    }
  }
}

TEST(TextChart, LabelsBetweenWholeUnitsHaveTheirDecimals) {
  std::vector<Job> jobs;
  for (int i = 0; i < 20; ++i) jobs.push_back({.begin = i, .end = i + 1, .microBatch = i % 10});
  const std::string chart = textChart(timelineOf(jobs, kNsPerMs / 2), {});
  EXPECT_THAT(chart, AllOf(HasSubstr("|2.5 ms "), HasSubstr("|7.5 ms"), Not(HasSubstr("|7 ms"))));
}

TEST(TextChart, JobsTooShortForTheirTextAreLetters) {
  Timeline run = timelineOf({{0, 0, 10, JobKind::kForward, 12},
                             {0, 10, 30, JobKind::kBackward, 12},
                             {0, 30, 31, JobKind::kOptimizer},
                             {0, 33, 37}},
                            kNsPerMs + 1);
  run.tracks[0].events.back().end += 1;  // no common unit
  const std::vector<std::string> lines = linesOf(textChart(run, {.width = 7 + 37}));
  EXPECT_EQ(lines[1], "rank 0 F12====== B12================ O--F0=");
  EXPECT_EQ(linesOf(textChart(run, {.width = 20}))[1], "rank 0 F12 B12===:-F");
  const char* const narrow = "a letter without";
  EXPECT_THAT(textChart(run, {.width = 20}), HasSubstr(narrow));
  EXPECT_THAT(textChart(run, {.width = 100}), Not(HasSubstr(narrow)));
}

TEST(TextChart, ANumberMayTakeThePlaceOfTheBlank) {
  Timeline run = timelineOf({{0, 0, 3, JobKind::kForward, 9},
                             {0, 3, 6, JobKind::kForward, 10},
                             {0, 6, 9, JobKind::kForward, 11},
                             {0, 9, 13, JobKind::kForward, 12}});
  run.tracks[0].events.back().end += 1;  // no common unit
  EXPECT_EQ(linesOf(textChart(run, {.width = 20}))[1], "rank 0 F9 F10F11F12");
}

TEST(TextChart, CellsAreWrappedWhenNumbersHaveNoRoomInOneLine) {
  std::vector<Job> jobs;
  for (int i = 0; i < 8; ++i) jobs.push_back({0, i, i + 1, JobKind::kForward, 8 + i});
  const std::vector<std::string> lines = linesOf(textChart(timelineOf(jobs), {.width = 20}));
  EXPECT_THAT(lines,
              testing::ElementsAre("       |0      |", "rank 0 F8= F9= F10", "",  //
                                   "           |4 ms", "rank 0 F11 F12 F13", "", "       |6 ms",
                                   "rank 0 F14 F15", "F forward", "one cell is 1.000 ms"));
}

TEST(TextChart, AJobThatIsWrappedGoesOnWithoutItsName) {
  const Timeline run = timelineOf({{0, 0, 1, JobKind::kForward, 10},
                                   {0, 1, 2, JobKind::kForward, 11},
                                   {0, 2, 4, JobKind::kBackward, 10},
                                   {0, 4, 5, JobKind::kForward, 12}});
  const std::vector<std::string> lines = linesOf(textChart(run, {.width = 20}));
  EXPECT_EQ(lines[1], "rank 0 F10 F11 B10=");
  EXPECT_EQ(lines[4], "rank 0 === F12");
}

TEST(TextChart, JobsManyUnitsLongAreWrappedOnTheScaleThatTheirNumbersNeed) {
  // The unit is 1 ms: its cells would take 13 parts.
  std::vector<Job> jobs;
  for (int i = 0; i < 8; ++i) {
    jobs.push_back({0, 10 * i, 10 * i + 10, JobKind::kForward, 10 + i});
  }
  jobs.push_back({0, 80, 83, JobKind::kOptimizer, 0});
  const std::vector<std::string> lines = linesOf(textChart(timelineOf(jobs), {.width = 20}));
  EXPECT_THAT(lines, testing::ElementsAre("       |0    |20 ms", "rank 0 F10F11F12F13", "",
                                          "          |50 ms", "rank 0 F14F15F16F17O", "F forward,",
                                          "  O optimizer", "one column is 3.192", "  ms"));
}

TEST(TextChart, SumsOfGradientsAreMarkedWhereTheRankIsIdle) {
  Timeline run = timelineOf({{0, 0, 4, JobKind::kForward, 0},
                             {0, 4, 8, JobKind::kBackward, 0},
                             {0, 12, 16, JobKind::kForward, 1}});
  const auto addReduction = [&](Nanoseconds begin, Nanoseconds end, bool namesMembers) {
    Event event{
        .begin = begin * kNsPerMs, .end = end * kNsPerMs, .stage = 0, .kind = JobKind::kAllReduce};
    if (namesMembers) {
      const Argument argument =
          Argument::ofText(run.strings.intern(log_format::kMembers), run.strings.intern("0 1"));
      run.setArguments(event, {&argument, 1});
    }
    run.track(0, "all_reduce").events.push_back(event);
  };
  addReduction(9, 10, false);
  const std::string without = textChart(run, {.width = 60});
  EXPECT_THAT(without, Not(HasSubstr("sum")));
  addReduction(6, 14, true);
  const std::string with = textChart(run, {.width = 60});
  EXPECT_EQ(linesOf(with)[1], "rank 0 F0 B0 su F1");
  EXPECT_THAT(with, HasSubstr("F forward, B backward, sum adding up gradients\n"));
}

TEST(TextChart, AWrappedChartHasAtMostTwoHundredLines) {
  std::vector<Job> jobs;
  for (int i = 0; i < 200; ++i) jobs.push_back({0, i, i + 1, JobKind::kForward, i});
  EXPECT_LE(linesOf(textChart(timelineOf(jobs), {.width = 47})).size(), 202U);
  EXPECT_EQ(linesOf(textChart(timelineOf(jobs), {.width = 20}))[1], "rank 0 FFFFFFFFFFFFF");
}

TEST(TextChart, JobsShorterThanAColumnShareIt) {
  std::vector<Job> jobs;
  for (int i = 0; i < 100; ++i) jobs.push_back({0, i, i + 1, JobKind::kForward, i});
  for (int i = 100; i < 200; ++i) jobs.push_back({0, i, i + 1, JobKind::kBackward, i - 100});
  jobs.push_back({0, 250, 251, JobKind::kBackward, 100});
  jobs.push_back({0, 390, 400, JobKind::kOptimizer, 0});
  Timeline run = timelineOf(jobs);
  run.tracks[0].events.back().end += 1;  // no common unit
  const std::string text = textChart(run, {.width = 47});
  EXPECT_EQ(linesOf(text)[1], "rank 0 FFFFFFFFFFBBBBBBBBBB-----:-------------O");
  EXPECT_THAT(text, HasSubstr(", - idle,\n  : idle but for short jobs\n"));
  EXPECT_THAT(textChart(papersRun(), {}), HasSubstr(", - idle\n"));
}

TEST(TextChart, TheLegendExplainsWhatOccursAndNothingElse) {
  const auto legendOf = [](const std::vector<Job>& jobs, int width) {
    const std::vector<std::string> lines = linesOf(textChart(timelineOf(jobs), {.width = width}));
    return lines[lines.size() - 2];
  };
  EXPECT_EQ(legendOf({{0, 0, 1, JobKind::kForward}}, 40), "F forward");
  // Jobs of a name alone explain themselves; their letters do not.
  EXPECT_EQ(legendOf({{0, 0, 1, JobKind::kLr},
                      {0, 1, 2, JobKind::kForward},
                      {0, 2, 3, JobKind::kOptimizer},
                      {0, 4, 5, JobKind::kOptimizer}},
                     40),
            "F forward, opt optimizer, - idle");
  const std::vector<Job> shortJobs = {{0, 0, 300, JobKind::kLr},
                                      {0, 300, 9600, JobKind::kForward},
                                      {0, 9600, 9900, JobKind::kOptimizer},
                                      {0, 9900, 9901, JobKind::kData}};
  EXPECT_EQ(legendOf(shortJobs, 40), "F forward, L lr, O optimizer");
  EXPECT_EQ(legendOf({{0, 0, 1, JobKind::kForwardBackward, 7, 0, 0, "(0F7;7B3)OVERLAP_F_B"}}, 40),
            "F forward, B backward, F+B fused pair");
  EXPECT_EQ(legendOf({{0, 0, 1, JobKind::kForwardBackward, 7}}, 40), "& fused pair");
}

TEST(TextChart, ChunksDifferInCase) {
  const Timeline run = timelineOf({{0, 0, 1, JobKind::kForward, 0, 0, 0},
                                   {0, 1, 2, JobKind::kForward, 0, 2, 1},
                                   {0, 2, 3, JobKind::kBackwardInput, 0, 2, 1},
                                   {0, 3, 4, JobKind::kBackwardWeight, 0, 0, 0}});
  const std::string text = textChart(run, {});
  EXPECT_EQ(linesOf(text)[1], "rank 0 F0 f0 i0 W0");
  EXPECT_THAT(text, AllOf(HasSubstr("lower case: odd chunks"), HasSubstr("I input half"),
                          HasSubstr("W weight half")));
}

TEST(TextChart, JobsOfMoreThanTwoChunksHaveTheirStageInFront) {
  const Timeline run = timelineOf({{0, 0, 1, JobKind::kForward, 3, 0, 0},
                                   {0, 1, 2, JobKind::kForward, 3, 2, 1},
                                   {0, 2, 3, JobKind::kForward, 3, 4, 2}});
  EXPECT_EQ(linesOf(textChart(run, {}))[1], "rank 0 0F3 2f3 4F3");
  EXPECT_EQ(linesOf(textChart(timelineOf({{0, 0, 1, JobKind::kForward, 3, 0, 0},
                                          {0, 1, 7, JobKind::kForward, 3, 4, 2}}),
                              {.width = 21}))[1],
            "rank 0 F34F3========");
}

TEST(TextChart, FusedPairsShowBothHalves) {
  const Timeline run =
      timelineOf({{0, 0, 1, JobKind::kForward, 7, 0, 0},
                  {0, 1, 4, JobKind::kForwardBackward, 7, 0, 0, "(0F7;7B3)OVERLAP_F_B"},
                  {0, 4, 6, JobKind::kBackward, 4, 7, 1},
                  {0, 7, 8, JobKind::kForward, 8, 0, 0}});
  const std::string text = textChart(run, {});
  EXPECT_EQ(linesOf(text)[1], "rank 0 F7 F7+b3=== b4=== -- F8");
  EXPECT_THAT(text, HasSubstr("fused pair"));
  EXPECT_EQ(linesOf(textChart(run, {.width = 20}))[1], "rank 0 F7F7b3 b4 -F8");
}

TEST(TextChart, AFusedPairWithAnUnreadableActionShowsItsForward) {
  const Timeline run = timelineOf({{0, 0, 1, JobKind::kForwardBackward, 7, 0, 0, "(0F7;nonsense"},
                                   {0, 1, 2, JobKind::kForwardBackward, 8, 0, 0}});
  EXPECT_EQ(linesOf(textChart(run, {}))[1], "rank 0 &7 &8");
}

TEST(TextChart, JobsAreCutAtTheEdgesOfTheRange) {
  const Timeline run = papersRun(2);
  const Nanoseconds begin = run.tracks[0].events.front().begin;
  const std::string text =
      textChart(run, {.range = Timeline::Span{begin + 11 * kNsPerMs, begin + 15 * kNsPerMs}});
  EXPECT_EQ(linesOf(text)[1], "rank 0 B0 F4 B1===");
}

TEST(TextChart, OtherLanesAreLeftOut) {
  Timeline run = papersRun();
  const std::string before = textChart(run, {});
  const Nanoseconds begin = run.tracks[0].events.front().begin;
  run.track(0, "copies").events = {{.begin = begin + 7, .end = begin + 8, .kind = JobKind::kCopy}};
  run.sort();
  EXPECT_EQ(textChart(run, {}), before);
}

/// Adds a bubble of rank 0, in ms from 0.
void addBubble(Timeline& run, Nanoseconds begin, Nanoseconds end, BubbleClass bubbleClass) {
  run.track(0, kBubbleLane)
      .events.push_back({.begin = begin * kNsPerMs,
                         .end = end * kNsPerMs,
                         .kind = JobKind::kBubble,
                         .bubbleClass = bubbleClass});
}

TEST(TextChart, IdleTimeHasTheMarkOfItsClass) {
  using enum BubbleClass;
  Timeline run = timelineOf({{0, 0, 1}, {0, 9, 10, JobKind::kBackward}});
  const std::vector<BubbleClass> classes = {kWarmUp,   kSteady,    kDrain,   kSync,
                                            kTransfer, kImbalance, kPeerWait};
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto at = static_cast<Nanoseconds>(i) + 1;
    addBubble(run, at, at + 1, classes[i]);
  }
  addBubble(run, 8, 9, kLateStart);
  EXPECT_EQ(linesOf(textChart(run, {}))[1], "rank 0 F0 -- -- -- __ ~~ ## ** !! B0");
  EXPECT_EQ(linesOf(textChart(run, {.width = 27}))[1], "rank 0 F0------__~~##**!!B0");
  EXPECT_THAT(textChart(run, {.width = 120}),
              HasSubstr("F forward, B backward, - idle by the schedule, _ sync, ! late start, "
                        "~ transfer, * peer wait, # imbalance\n"));
}

TEST(TextChart, AColumnHasTheClassWithMostOfItsTime) {
  Timeline run = timelineOf({{0, 0, 100}, {0, 300, 400}});
  run.tracks[0].events.back().end += 1;  // no common unit
  addBubble(run, 100, 132, BubbleClass::kTransfer);
  addBubble(run, 132, 208, BubbleClass::kImbalance);
  addBubble(run, 208, 300, BubbleClass::kUnknown);
  const std::string text = textChart(run, {.width = 7 + 20});
  EXPECT_EQ(linesOf(text)[1], "rank 0 F0== ~~###.....F0==") << "20 ms a column";
  EXPECT_THAT(textChart(run, {}), HasSubstr(". idle, cause unknown"));
}

TEST(TextChart, JobsThatAreNoWorkAreFilledWithTheMarkOfTheirIdleTime) {
  Timeline run = timelineOf({{0, 0, 1, JobKind::kLr},
                             {0, 1, 3},
                             {0, 4, 6, JobKind::kOptimizer},
                             {0, 7, 8, JobKind::kForward, 1}});
  addBubble(run, 3, 4, BubbleClass::kWarmUp);
  addBubble(run, 4, 7, BubbleClass::kSync);
  const std::string text = textChart(run, {});
  EXPECT_EQ(linesOf(text)[1], "rank 0 lr F0=== -- opt__ __ F1") << "lr is in no step";
  EXPECT_THAT(text, HasSubstr("opt optimizer, - idle by the schedule, _ sync\n"));
}

TEST(TextChart, TimeThatBelongsToNoStepIsBlankInARunWithBubbles) {
  Timeline run = timelineOf({{0, 0, 1}, {0, 2, 3}, {0, 5, 6}});
  addBubble(run, 1, 2, BubbleClass::kDrain);
  EXPECT_EQ(linesOf(textChart(run, {}))[1], "rank 0 F0 -- F0       F0");
}

TEST(TextChart, WaitingForAFaultIsRedAndOtherIdleTimeFaint) {
  Timeline run = timelineOf({{0, 0, 1}, {0, 4, 5}});
  addBubble(run, 1, 2, BubbleClass::kWarmUp);
  addBubble(run, 2, 3, BubbleClass::kImbalance);
  addBubble(run, 3, 4, BubbleClass::kBlocked);
  const std::string colored = textChart(run, {.colors = true});
  EXPECT_THAT(colored, HasSubstr("\x1b[1;31m## %%"));
  EXPECT_THAT(colored, HasSubstr("\x1b[2m --"));
  EXPECT_EQ(std::regex_replace(colored, std::regex("\x1b\\[[0-9;]*m"), ""), textChart(run, {}));
}

TEST(TextChart, ColorsAddNothingButEscapeSequences) {
  std::string colored = textChart(papersRun(), {.colors = true});
  EXPECT_THAT(colored, HasSubstr("\x1b[1;34mF0"));
  colored = std::regex_replace(colored, std::regex("\x1b\\[[0-9;]*m"), "");
  EXPECT_EQ(colored, textChart(papersRun(), {}));
  EXPECT_THAT(textChart(papersRun(), {}), Not(HasSubstr("\x1b")));
}

TEST(TextChart, ATimelineWithoutJobsIsAnError) {
  EXPECT_THROW(textChart(Timeline(), {}), Error);
  EXPECT_THROW(textChart(timelineOf({{0, 0, 1, JobKind::kOptimizer}}), {}), Error);
  EXPECT_THROW(textChart(papersRun(), {.range = Timeline::Span{0, 1}}), Error);
  EXPECT_THROW(textChart(papersRun(), {.range = Timeline::Span{5, 5}}), Error);
  EXPECT_THROW(textChart(papersRun(), {.width = kMinTextChartWidth - 1}), Error);
}

TEST(TextChart, TimesFarApartAreDrawn) {
  const Timeline run = timelineOf({{0, 0, 1}, {0, kNsMax / 2, kNsMax / 2 + 1}}, 1);
  EXPECT_EQ(linesOf(textChart(run, {.width = 27}))[1].substr(0, 9), "rank 0 :-");
}

}  // namespace
}  // namespace pipetrace
