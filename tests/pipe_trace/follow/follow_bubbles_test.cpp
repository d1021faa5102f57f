#include <cmath>
#include <limits>

#include "tests/pipe_trace/follow/follow_fixture.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

/// The bubbles of a Chrome JSON: rank, step, begin from the first job on, length, class, culprit.
std::set<std::string> bubblesIn(const std::string& json) {
  const auto root = nlohmann::json::parse(json);
  const nlohmann::json& events = root.is_array() ? root : root["traceEvents"];
  const auto isSlice = [](const auto& event) { return event.value("ph", "") == "X"; };
  const auto nsOf = [](const auto& time) {
    return std::llround(time.template get<double>() * 1000);
  };
  long long first = std::numeric_limits<long long>::max();
  for (const auto& event : events) {
    if (isSlice(event)) first = std::min(first, nsOf(event["ts"]));
  }
  std::set<std::string> bubbles;
  for (const auto& event : events) {
    if (!isSlice(event) || event["cat"] != "bubble") continue;
    bubbles.insert(event["pid"].dump() + " " + std::to_string(nsOf(event["ts"]) - first) + " " +
                   std::to_string(nsOf(event["dur"])) + " " + event["args"].dump());
  }
  return bubbles;
}

TEST_F(Follow, BubblesHaveTheClassesAndCulpritsOfAWholeConversion) {
  Costs costs = Costs::equal(4, {10 * kNsPerMs, 20 * kNsPerMs});
  costs.transfer = kNsPerMs / 20;
  costs.lr = kNsPerMs / 10;
  costs.optimizer = 2 * kNsPerMs;
  costs.stages[2] = {13 * kNsPerMs, 26 * kNsPerMs};
  costs.faults.links.push_back({.rank = 0, .peer = 1, .transfer = 3 * kNsPerMs});
  costs.faults.jobs.push_back(
      {.action = {JobKind::kForward, 1, 4}, .step = 1, .longer = 30 * kNsPerMs});
  constexpr int kSteps = 4;
  const std::string whole = logs(simulate(buildSchedule("1F1B", 4, 8), costs,
                                          {.steps = kSteps, .begin = 1'697'793'307'213'760'986}),
                                 "whole");
  ASSERT_EQ(run({whole, "-o", path("whole.json")}).exitCode, 0);
  const std::set<std::string> expected = bubblesIn(contents(path("whole.json")));
  EXPECT_THAT(
      expected,
      AllOf(Contains(HasSubstr("\"imbalance\"")), Contains(HasSubstr("\"transfer\"")),
            Contains(HasSubstr("\"peer_wait\"")), Contains(HasSubstr("\"culprit\":\"1F4\""))));
  // Each step is added before the next is half written.
  const auto grow = [&](pid_t) {
    std::vector<std::vector<std::string>> lines;
    for (int rank = 0; rank < 4; ++rank) lines.push_back(linesOf(whole, rank));
    for (int part = 0; part < kSteps; ++part) {
      for (int rank = 0; rank < 4; ++rank) {
        const std::vector<std::string>& log = lines[rank];
        const std::size_t until =
            part + 1 == kSteps ? log.size() : log.size() * (2 * part + 3) / (2 * kSteps);
        const std::size_t from = part == 0 ? 0 : log.size() * (2 * part + 1) / (2 * kSteps);
        std::string text;
        for (std::size_t i = from; i < until; ++i) text += log[i];
        append(rank, text);
      }
      EXPECT_TRUE(waitUntil([&] { return stepsWritten().contains(part); }));
    }
  };
  const ProgramRun result = follow(grow);
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_EQ(bubblesIn(profile()), expected);
}

TEST_F(Follow, BubblesOfAllPhasesAreThoseOfAWholeConversion) {
  constexpr int kSteps = 6;
  Simulation run =
      simulate(buildSchedule("1F1B", 2, 4), Costs::equal(2, {10 * kNsPerMs, 20 * kNsPerMs}),
               {.steps = kSteps, .begin = 1'697'793'307'213'760'986});
  for (Track& track : run.timeline.tracks) {
    std::erase_if(track.events, [](const Event& event) {
      return (event.step == 2 || event.step == 3) && event.kind != JobKind::kForward;
    });
    for (Event& event : track.events) {
      if (event.step == 2 || event.step == 3) event.phase = Phase::kEvaluate;
    }
  }
  const std::string whole = logs(run, "whole");
  ASSERT_EQ(Follow::run({whole, "-o", path("whole.json")}).exitCode, 0);
  const std::set<std::string> expected = bubblesIn(contents(path("whole.json")));
  const auto grow = [&](pid_t) {
    std::vector<std::string> lines[] = {linesOf(whole, 0), linesOf(whole, 1)};
    std::size_t at[] = {0, 0};
    // Each step with the first line of the next one, so that it is known to be over.
    for (int next = 1; next <= kSteps; ++next) {
      for (const int rank : {0, 1}) {
        std::string text;
        const std::string mark = "step = " + std::to_string(next);
        while (at[rank] < lines[rank].size()) {
          text += lines[rank][at[rank]++];
          if (text.find(mark) != std::string::npos) break;
        }
        append(rank, text);
      }
      EXPECT_TRUE(waitUntil([&] { return stepsWritten().contains(next - 1); })) << next;
    }
  };
  const ProgramRun result = follow(grow);
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_EQ(bubblesIn(profile()), expected);
  for (int step = 0; step < kSteps; ++step) {
    const std::string text = "\"step\":" + std::to_string(step);
    EXPECT_THAT(expected, Contains(HasSubstr(text)));
  }
}

TEST_F(Follow, ARunWithoutAFlushGetsNoBubblesAndANoteSaysSo) {
  const std::string whole = path("whole");
  ASSERT_EQ(run({"plan", "--schedule", "PipeDream", "--ranks", "2", "--micro-batches", "4",
                 "--steps", "4", "--optimizer-ms", "0.5", "-o", whole + "/"})
                .exitCode,
            0);
  ASSERT_FALSE(bubblesIn([&] {
                 run({whole, "-o", path("whole.json")});
                 return contents(path("whole.json"));
               }())
                   .empty());
  const ProgramRun result = follow([&](pid_t) {
    for (const int rank : {0, 1})
      append(rank, contents(whole + "/workerlog." + std::to_string(rank)));
  });
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the profile gets no bubbles while it grows"));
  EXPECT_THAT(bubblesIn(profile()), testing::IsEmpty());
  EXPECT_EQ(stepsWritten(), (std::set<int>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace pipetrace
