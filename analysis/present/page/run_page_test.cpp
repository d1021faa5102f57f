#include "analysis/present/page/run_page.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "analysis/testing/explained_run.h"
#include "analysis/testing/page_parts.h"
#include "analysis/testing/report_by_hand.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using test::chartsOf;
using test::completedRun;
using test::costsOf;
using test::scaleRank;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// The page of an explained run.
std::string pageOf(const Explanation& run, const RunPageOptions& options = {}) {
  const Diagnostics none;
  return runPage({run, none}, options);
}
std::string pageOf(const Timeline& timeline) { return pageOf(explainRun(timeline, {})); }

std::vector<std::int64_t> numbersOf(const json& list) {
  return list.get<std::vector<std::int64_t>>();
}

/// A rectangle with a text that a level of a chart draws, with x and width as shares of it.
struct Cell {
  std::string text;
  double begin = 0;
  double width = 0;
};

/// By the format of script_drawing.h, and not by its code.
std::vector<Cell> cellsOf(const json& chart, const json& level) {
  constexpr std::size_t kSizes[] = {3, 4, 6, 6, 5};
  const std::vector<std::int64_t> numbers = numbersOf(level["rows"]);
  const double all = level["width"];
  std::vector<Cell> cells;
  std::int64_t x = 0;
  for (std::size_t i = 0; i < numbers.size(); i += kSizes[numbers[i]]) {
    if (numbers[i] == 0) continue;
    x += numbers[i + 1];
    if (numbers[i] == 2) {
      cells.push_back({chart["texts"][static_cast<std::size_t>(numbers[i + 4])],
                       static_cast<double>(x) / all, static_cast<double>(numbers[i + 2]) / all});
    }
  }
  return cells;
}

class RunPageTest : public test::ReportByHand {
 protected:
  std::string page(const RunPageOptions& options = {}) const { return pageOf(run_, options); }
};

TEST_F(RunPageTest, TheChartHasEachJobAndBubbleAtItsTime) {
  const json chart = chartsOf(page()).at(0);
  EXPECT_EQ(chart["before"].get<Nanoseconds>() * 2 + 120 * kMs, chart["length"]);
  const json& rank = chart["lanes"][0];
  EXPECT_EQ(rank["name"], "rank 0");
  const auto begins = [&](const char* list, std::size_t size) {
    std::vector<Nanoseconds> times;
    const std::vector<std::int64_t> numbers = numbersOf(rank[list]);
    Nanoseconds time = -chart["before"].get<Nanoseconds>();
    for (std::size_t i = 0; i < numbers.size(); i += size) {
      time += numbers[i];
      times.push_back(time / kMs);
    }
    return times;
  };
  EXPECT_THAT(begins("jobs", 7), ElementsAre(0, 10, 40, 60, 70, 100));
  EXPECT_THAT(begins("idle", 6), ElementsAre(20, 90));
  EXPECT_EQ(numbersOf(rank["idle"])[1], 20 * kMs);
  EXPECT_EQ(numbersOf(rank["idle"])[7], 10 * kMs);
}

TEST_F(RunPageTest, JobsAreDrawnInProportionToTheirTimes) {
  const json chart = chartsOf(page()).at(0);
  const json& level = chart["levels"].back();
  const double length = chart["length"];
  const double before = chart["before"];
  const double pixel = 2 / level["width"].get<double>();
  const std::vector<Cell> cells = cellsOf(chart, level);
  const std::map<std::string, std::pair<int, int>> expected = {
      {"0F0", {0, 10}}, {"0B0", {40, 20}}, {"0B2", {100, 20}}, {"1F2", {70, 10}}};
  std::size_t found = 0;
  for (const Cell& cell : cells) {
    const auto time = expected.find(cell.text);
    if (time == expected.end()) continue;
    ++found;
    const double begin = static_cast<double>(time->second.first) * static_cast<double>(kMs);
    EXPECT_NEAR(cell.begin, (begin + before) / length, pixel) << cell.text;
    EXPECT_NEAR(cell.width, time->second.second * static_cast<double>(kMs) / length, pixel);
  }
  EXPECT_EQ(found, expected.size());
}

TEST_F(RunPageTest, TheHeatMapHasTheBubbleRatioOfEachRankInEachStep) {
  const json steps = chartsOf(page()).at(1);
  EXPECT_THAT(steps["columns"].get<std::vector<std::string>>(),
              ElementsAre("step 0", "step 1", "step 2"));
  EXPECT_THAT(steps["lanes"][0]["cells"].get<std::vector<std::string>>(),
              ElementsAre("120.0 ms; it does not count", "120.0 ms", "120.0 ms"));
  for (const std::size_t rank : {1, 2}) {  // idle for 30 of 120 ms
    EXPECT_THAT(steps["lanes"][rank]["cells"].get<std::vector<int>>(), ElementsAre(250, 250, 250));
  }
}

TEST_F(RunPageTest, TablesHaveTheTimesOfTheStepsThatCount) {
  EXPECT_THAT(page(), AllOf(HasSubstr("<td data-v=\"60000000\">60.00 ms</td>"),   // idle
                            HasSubstr("<td data-v=\"180000000\">180.0 ms</td>"),  // busy
                            HasSubstr("<td data-v=\"0.25\">25.0 %</td>")));
}

TEST_F(RunPageTest, AdviceIsASectionOfItsOwn) {
  EXPECT_THAT(page(), Not(HasSubstr("What to change")));
  EXPECT_THAT(page({.advice = {{"balance the stages: 12 % less, give or take 2 %",
                                "pipe-trace what-if 'a<b'",
                                {"jobs < messages"}},
                               {"a < b"}},
                    .adviceNotes = {"b < c"}}),
              HasSubstr("<h2>What to change</h2>\n<ol class=\"findings\">\n"
                        "<li><p>Balance the stages: 12 % less, give or take 2 %.</p>\n"
                        "<p class=\"note\">Jobs &lt; messages.</p>\n"
                        "<p class=\"command\"><code>pipe-trace what-if &#39;a&lt;b&#39;</code>"
                        "<button type=\"button\" class=\"copy-text\">copy</button></p>\n</li>\n"
                        "<li><p>A &lt; b.</p>\n</li>\n</ol>\n<p class=\"note\">B &lt; c.</p>"));
}

TEST_F(RunPageTest, ThatThereIsNoAdviceIsNoPieceOfAdvice) {
  EXPECT_THAT(page({.advice = adviceSentences({.tried = 7}), .adviceNotes = {"b < c"}}),
              HasSubstr("<h2>What to change</h2>\n<p>Nothing gains more than 2 % (7 changes were "
                        "computed).</p>\n<p class=\"note\">B &lt; c.</p>"));
}

TEST_F(RunPageTest, TheFileNeedsNothingFromAnywhere) {
  EXPECT_THAT(page(),
              AllOf(Not(HasSubstr("http:")), Not(HasSubstr("https:")), Not(HasSubstr(" src=")),
                    Not(HasSubstr("@import")), HasSubstr("default-src 'none'")));
}

TEST(RunPageOfFaultsTest, ABubbleLeadsToTheJobThatCausedIt) {
  const Plan plan = buildSchedule("1F1B", 4, 8);
  Costs costs = costsOf(plan, 1);
  scaleRank(costs, plan, 2, 1.5);
  const json chart = chartsOf(pageOf(completedRun(plan, costs))).at(0);
  std::size_t found = 0;
  for (const json& lane : chart["lanes"]) {
    const std::vector<std::int64_t> idle = numbersOf(lane["idle"]);
    for (std::size_t i = 0; i < idle.size(); i += 6) {
      const std::string culprit = chart["texts"][static_cast<std::size_t>(idle[i + 3])];
      if (!culprit.starts_with("2F") && !culprit.starts_with("2B")) continue;
      ++found;
      ASSERT_GE(idle[i + 4], 0) << culprit;
      const json& other = chart["lanes"][static_cast<std::size_t>(idle[i + 4])];
      const std::size_t at = 7 * static_cast<std::size_t>(idle[i + 5]);
      const std::int64_t text = numbersOf(other["jobs"])[at + 2];
      const std::string name = chart["texts"][static_cast<std::size_t>(text)];
      EXPECT_EQ(culprit.substr(culprit.find(" on ") + 4), other["name"].get<std::string>());
      const std::string kind = culprit[1] == 'F' ? "forward " : "backward ";
      EXPECT_EQ(name, kind + culprit.substr(2, culprit.find(' ') - 2)) << culprit;
    }
  }
  EXPECT_GE(found, 3U);
}

TEST(RunPageOfFaultsTest, NothingInARunIsMarkup) {
  const std::string evil = "</script><img src=x onerror=alert(1)>";
  Timeline timeline =
      completedRun(buildSchedule("1F1B", 2, 4), costsOf(buildSchedule("1F1B", 2, 4), 1));
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) event.name = timeline.strings.intern(evil);
  }
  for (auto& [rank, info] : timeline.ranks) info.schedule = evil;
  Track& lane = timeline.track(1, evil);
  lane.events = timeline.tracks.front().events;
  for (Event& event : lane.events) event.kind = JobKind::kOther;
  timeline.sort();
  const auto run = explainRun(timeline, {});
  Diagnostics diagnostics;
  diagnostics.add({.message = evil, .advice = evil});
  const std::string page = runPage({run, diagnostics}, {.name = evil, .advice = {{evil, evil}}});
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("<title>&lt;/script&gt;&lt;img"));
  const json chart = chartsOf(page).at(0);
  EXPECT_THAT(chart["texts"].get<std::vector<std::string>>(), Contains(evil));
}

TEST(RunPageOfFaultsTest, ThePageSaysWhatItRestsOn) {
  Timeline timeline =
      completedRun(buildSchedule("1F1B", 4, 8), costsOf(buildSchedule("1F1B", 4, 8), 1));
  EXPECT_THAT(pageOf(timeline), HasSubstr("The logs are whole, and nothing had to be inferred."));
  std::erase_if(timeline.tracks, [](const Track& track) { return track.lane != kComputeLane; });
  for (auto& [rank, info] : timeline.ranks) info.numStages.reset();
  EXPECT_THAT(pageOf(timeline), AllOf(HasSubstr("that was inferred"),
                                      HasSubstr("No message between ranks is in the logs")));
}

TEST(RunPageOfFaultsTest, AnAsynchronousRunHasAStretchFromItsMiddle) {
  const Plan plan = buildSchedule("PipeDream", 4, 16);
  const Timeline timeline = completedRun(plan, costsOf(plan, 1), 5);
  const std::string page = pageOf(timeline);
  EXPECT_THAT(page,
              AllOf(HasSubstr("<h2>A part of the run</h2>"),
                    HasSubstr("A stretch from the middle of the run, as long as one of its")));
  EXPECT_FALSE(chartsOf(page).at(0)["lanes"].empty());
}

TEST(RunPageOfFaultsTest, AnAsynchronousRunOfOneStepIsShownWhole) {
  const Plan plan = buildSchedule("PipeDream", 4, 16);
  const Timeline timeline = completedRun(plan, costsOf(plan, 1), 1);
  const auto run = explainRun(timeline, {});
  const std::string page = pageOf(run);
  EXPECT_THAT(
      page, AllOf(HasSubstr("<h2>The run</h2>"), HasSubstr("The run, while its pipeline is full: "),
                  HasSubstr("<span>length of the run</span>"), Not(HasSubstr("one of its"))));
  EXPECT_GE(chartsOf(page).at(0)["length"], run.steps.at(0).summary.window());
}

}  // namespace
}  // namespace pipetrace
