#include "analysis/present/page/diff_page.h"

#include <gmock/gmock.h>

#include "analysis/present/page/page.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/noisy_run.h"
#include "analysis/testing/page_parts.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using test::chartsOf;
using test::costsOf;
using test::noisyRun;
using test::scaleRank;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const Plan& comparedPlan() {
  static const Plan plan = buildSchedule("1F1B", {4, 8});
  return plan;
}

/// Stage 2 takes `factor` times as long.
Timeline comparedRun(double factor, unsigned seed) {
  Costs costs = costsOf(comparedPlan(), 0.1);
  scaleRank(costs, comparedPlan(), 2, factor);
  return noisyRun(comparedPlan(), costs, 12, seed);
}

/// Two runs with all that their page needs.
struct ComparedRuns {
  Timeline timelineOfA;
  Timeline timelineOfB;
  ExplainOptions choices{};  // of A
  ExplainedRun a = explainRun(timelineOfA, choices);
  ExplainedRun b = explainRun(timelineOfB, {});
  Diagnostics diagnostics{};
  RunDiff diff = diffOf(measureRun(a.of, {}), measureRun(b.of, {}), 0.02);
  std::string inputOfA = "before";
  std::string inputOfB = "after";

  std::string page() const {
    const DiffReport report{diff, inputOfA, inputOfB};
    return diffPage({report, {a, diagnostics}, {b, diagnostics}, "1.2"});
  }
};

/// The text between two marks, the first of which must be there.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  if (from == std::string::npos) return "no " + begin;
  return text.substr(from, text.find(end, from) - from);
}

std::string sectionOf(const std::string& page, const std::string& id) {
  return between(page, "<section id=\"" + id + "\">", "</section>");
}

TEST(DiffPage, SaysWhatTheTextSays) {
  const ComparedRuns runs{comparedRun(1, 1), comparedRun(1.1, 2)};
  const std::string page = runs.page();
  const std::string answer = sectionOf(page, "answer");
  EXPECT_THAT(answer, AllOf(HasSubstr("data-verdict=\"slower\">B&#39;s steps take "),
                            HasSubstr(htmlText(diffAnswer(runs.diff).substr(1)) + ".</p>"),
                            HasSubstr(htmlText(diffTextOfA({runs.diff, "before", ""}))),
                            HasSubstr("data-run=\"B\">B</b>after: 4 ranks, 12 steps")));
  EXPECT_THAT(page, HasSubstr("<title>before (A) and after (B): PipeTrace diff</title>"));
}

TEST(DiffPage, ItsReasonsAndItsSumsAddUpToTheDifference) {
  for (const bool isFaster : {false, true}) {
    const ComparedRuns runs{comparedRun(isFaster ? 1.1 : 1, 1), comparedRun(isFaster ? 1 : 1.1, 2)};
    const std::string page = runs.page();
    const auto sumOf = [&](const char* section, std::size_t column, std::size_t lastRows) {
      double sum = 0;
      const auto table = test::numbersOfTable(sectionOf(page, section));
      for (std::size_t i = 0; i + lastRows < table.size(); ++i) sum += table[i].at(column);
      return sum;
    };
    const auto difference = static_cast<double>(runs.diff.unit().difference());
    EXPECT_EQ(difference < 0, isFaster);
    EXPECT_EQ(sumOf("reasons", 0, 0), difference);
    EXPECT_NEAR(sumOf("reasons", 1, 0), 1, 1e-6);
    // The last row is the step.
    EXPECT_EQ(sumOf("sums", 0, 1), static_cast<double>(runs.diff.unit().a));
    EXPECT_EQ(sumOf("sums", 1, 1), static_cast<double>(runs.diff.unit().b));
    EXPECT_EQ(sumOf("sums", 2, 1), difference);
  }
}

TEST(DiffPage, NoReasonHasAShareOfNoise) {
  const ComparedRuns runs{comparedRun(1, 1), comparedRun(1, 2)};
  ASSERT_EQ(diffVerdict(runs.diff), "equal");
  const std::string reasons = sectionOf(runs.page(), "reasons");
  EXPECT_THAT(reasons, AllOf(HasSubstr(", which is within noise."), Not(HasSubstr(" %</td>"))));
}

TEST(DiffPage, ShowsSectionsOfBothRunsBesideEachOther) {
  const ComparedRuns runs{comparedRun(1, 1), comparedRun(1.1, 2)};
  const std::string page = runs.page();
  for (const char* const id : {"findings", "ranks", "steps", "costs", "step-table", "stages"}) {
    const std::string a = sectionOf(page, std::string("a-") + id);
    EXPECT_THAT(a, HasSubstr("<h2><b class=\"run\" data-run=\"A\">A</b>"));
    const std::string rest = page.substr(page.find(a) + a.size());
    EXPECT_THAT(rest.substr(0, 100),
                HasSubstr(std::string("</section>\n<section id=\"b-") + id + "\">"));
  }
  EXPECT_THAT(page, AllOf(Not(HasSubstr("http:")), Not(HasSubstr("https:")),
                          Not(HasSubstr(" src=")), HasSubstr("default-src 'none'")));
}

TEST(DiffPage, ItsStepsHaveOneTimeScale) {
  const ComparedRuns runs{comparedRun(1, 1), comparedRun(2, 2)};
  const std::vector<json> charts = chartsOf(sectionOf(runs.page(), "both-step"));
  ASSERT_EQ(charts.size(), 2U);
  const auto pixelsASecond = [](const json& chart, std::size_t level) {
    return chart["levels"].at(level)["width"].get<double>() / chart["length"].get<double>();
  };
  EXPECT_LT(charts[0]["length"].get<double>(), 0.8 * charts[1]["length"].get<double>());
  for (const std::size_t level : {0, 1}) {
    EXPECT_NEAR(pixelsASecond(charts[0], level) / pixelsASecond(charts[1], level), 1, 2e-3);
  }
}

TEST(DiffPage, HeatAndBarsOfBothRunsHaveOneScale) {
  const ComparedRuns runs{comparedRun(1, 1), comparedRun(2, 2)};
  const std::string page = runs.page();
  const std::string scale = between(sectionOf(page, "a-steps"), "bubble ratio", "</div>");
  EXPECT_EQ(scale, between(sectionOf(page, "b-steps"), "bubble ratio", "</div>"));
  EXPECT_THAT(scale, HasSubstr(" %</span>"));
}

TEST(DiffPage, RunsThatAreNotComparableAreShownAllTheSame) {
  const ComparedRuns runs{comparedRun(1, 1), [] {
                            Timeline run = comparedRun(1, 2);
                            for (Track& track : run.tracks) {
                              std::erase_if(track.events, [](const Event& event) {
                                return event.kind == JobKind::kBackward;
                              });
                            }
                            return run;
                          }()};
  const std::string page = runs.page();
  EXPECT_THAT(sectionOf(page, "answer"), HasSubstr("Steps cannot be compared: "));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<section id=\"reasons\">")),
                          Not(HasSubstr("<section id=\"sums\">")),
                          HasSubstr("<section id=\"lengths\">"), HasSubstr("id=\"b-ranks\">")));
}

TEST(DiffPage, OtherMicroBatchCountsAreComparedPerMicroBatch) {
  const Plan plan = buildSchedule("1F1B", {4, 16});
  const ComparedRuns runs{comparedRun(1, 1), noisyRun(plan, costsOf(plan, 0.1), 12, 2)};
  const std::string page = runs.page();
  EXPECT_THAT(sectionOf(page, "answer"),
              AllOf(HasSubstr("A micro-batch of B takes "),
                    HasSubstr("a step of B, of 16 micro-batches in place of 8, takes "),
                    HasSubstr("<li>A step of A has 8 micro-batches, one of B 16")));
  EXPECT_THAT(page, HasSubstr("<h2>What a micro-batch consists of</h2>"));
}

/// In steps 6 to 11 of A, rank 1 has no jobs.
TEST(DiffPage, ItsCardsAreOfTheStepsThatAreCompared) {
  Timeline cut = comparedRun(1, 1);
  for (Track& track : cut.tracks) {
    if (track.rank != 1) continue;
    std::erase_if(track.events, [](const Event& event) { return event.step >= 6; });
  }
  const ComparedRuns all{cut, comparedRun(1, 2)};
  ASSERT_EQ(all.diff.a.incomplete, 6U);
  const ComparedRuns runs{cut, comparedRun(1, 2), {.steps = comparedSteps(all.diff.a, {})}};
  const auto shareIn = [](const std::string& page) {
    const std::string cards = sectionOf(page, "figures");
    const std::string load = cards.substr(0, cards.find("<span>load balance</span>"));
    const std::string a = load.substr(load.rfind("data-run=\"A\""));
    return std::stod(a.substr(a.find("</b>") + 4));
  };
  // All ranks have as much work; without that of rank 1 it is three quarters of the most.
  EXPECT_NEAR(shareIn(runs.page()), 100, 3);
  EXPECT_LT(shareIn(all.page()), 90);
}

TEST(DiffPage, NothingInTheRunsIsMarkup) {
  const std::string evil = "</script><img src=x onerror=alert(1)>";
  Timeline a = comparedRun(1, 1);
  for (Track& track : a.tracks) {
    for (Event& event : track.events) event.name = a.strings.intern(evil);
  }
  for (auto& [rank, info] : a.ranks) info.schedule = evil;
  ComparedRuns runs{std::move(a), comparedRun(1.1, 2)};
  runs.inputOfA = evil;
  runs.diagnostics.add({.message = evil, .advice = evil});
  runs.diff.a.schedule = evil;
  const std::string page = runs.page();
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("<title>&lt;/script&gt;&lt;img"));
  EXPECT_THAT(chartsOf(page).at(0)["texts"].get<std::vector<std::string>>(),
              testing::Contains(evil));
}

}  // namespace
}  // namespace pipetrace
