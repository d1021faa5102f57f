#include "parser/chrome/write/writer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "parser/testing/files.h"
#include "parser/testing/timelines.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

class ChromeWriterTest : public test::FolderTest {
 protected:
  std::string text(const Timeline& timeline, ChromeOptions options = {}) {
    OutputFile out(path("p.json"));
    summary_ = writeChromeJson(timeline, options, out);
    out.commit();
    return contents("p.json");
  }

  /// The events of that phase.
  std::vector<json> events(const Timeline& timeline, const std::string& phase) {
    std::vector<json> list;
    const json all = json::parse(text(timeline));  // must not throw: the JSON is strict
    for (const json& e : all["traceEvents"]) {
      if (e["ph"] == phase) list.push_back(e);
    }
    return list;
  }

  ProfileSummary summary_;
};

Event& add(Timeline& t, int rank, const char* lane, JobKind kind, Nanoseconds begin,
           Nanoseconds end) {
  Event& e = t.track(rank, lane).events.emplace_back();
  e.kind = kind;
  e.begin = begin;
  e.end = end;
  return e;
}

TEST_F(ChromeWriterTest, ASmallProfileHasTheExpectedText) {
  Timeline t;
  Event& job = add(t, 0, "compute", JobKind::kForward, 1697793307213760986, 1697793307254006104);
  job.microBatch = 2;
  job.number = 3;
  add(t, 0, "copies", JobKind::kCopy, 1697793307213761986, 1697793307213761987);
  t.counters.push_back({0, "loss", "", {{1697793307213760987, 0.5}}});
  t.ranks[0].hasEnd = true;
  t.sort();
  EXPECT_EQ(
      text(t),
      R"({"displayTimeUnit":"ns","otherData":{"pipetrace":{"format":1,"origin_ns":"1697793307213760986","ranks":[{"rank":0,"end":{"seen":true,"written":0,"dropped":0,"errors":0,"late_starts":0,"own_cost_ns":0}}],"counters":[{"rank":0,"name":"loss"}]}},"traceEvents":[
{"ph":"M","name":"process_name","pid":1,"args":{"name":"rank 0"}},
{"ph":"M","name":"process_sort_index","pid":1,"args":{"sort_index":0}},
{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"compute","lane":"compute"}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":1,"args":{"sort_index":0}},
{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"copies","lane":"copies"}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":2,"args":{"sort_index":1}},
{"ph":"X","name":"forward 2","cat":"forward","pid":1,"tid":1,"ts":0.000,"dur":40245.118,"cname":"rail_response","args":{"micro_batch":2,"number":3}},
{"ph":"X","name":"copy","cat":"copy","pid":1,"tid":2,"ts":1.000,"dur":0.001,"args":{}},
{"ph":"C","name":"loss","pid":1,"ts":0.001,"args":{"value":0.5}}
]}
)");
}

TEST_F(ChromeWriterTest, TimesHaveThreeDecimalsAndCountFromTheFirstEvent) {
  const std::string profile = text(test::oneFOneB(2, 4, 2));
  const std::regex times(R"re("(?:ts|dur)":([^,}]*))re");
  const std::regex exact(R"(\d+\.\d{3})");
  int seen = 0;
  for (std::sregex_iterator it(profile.begin(), profile.end(), times), end; it != end; ++it) {
    EXPECT_TRUE(std::regex_match((*it)[1].str(), exact)) << (*it)[1];
    ++seen;
  }
  EXPECT_GT(seen, 100);
  EXPECT_THAT(profile, HasSubstr("\"ts\":0.000,"));
}

TEST_F(ChromeWriterTest, ProcessesAreRanksAndComputeIsTheMainThread) {
  Timeline t;
  for (const int rank : {0, 3, 7}) {
    for (const char* lane : {"send", "compute", "bubbles"}) {
      add(t, rank, lane, JobKind::kForward, 10, 20);
    }
  }
  t.sort();
  std::set<std::int64_t> tids;
  for (const json& e : events(t, "M")) {
    const auto pid = e["pid"].get<std::int64_t>();
    EXPECT_TRUE(e["pid"].is_number_integer());
    if (e["name"] == "process_name") {
      EXPECT_EQ(e["args"]["name"], "rank " + std::to_string(pid - 1));
    }
    if (e["name"] == "process_sort_index" || e["name"] == "thread_sort_index") {
      EXPECT_TRUE(e["args"]["sort_index"].is_number_integer());
    }
    if (e["name"] != "thread_name") continue;
    const auto tid = e["tid"].get<std::int64_t>();
    if (e["args"]["name"] == "compute") {
      EXPECT_EQ(tid, pid);
    } else {
      EXPECT_GT(tid, 8);  // above every pid
    }
    EXPECT_TRUE(tids.insert(tid).second);
  }
  EXPECT_EQ(tids.size(), 9U);
}

TEST_F(ChromeWriterTest, RowsAreOrderedComputeBubblesAndThenByName) {
  Timeline t;
  for (const char* lane : {"send", "compute", "bubbles", "recv"}) {
    add(t, 0, lane, JobKind::kForward, 10, 20);
  }
  t.sort();
  std::map<int, std::string> order;
  std::map<std::int64_t, std::string> names;
  for (const json& e : events(t, "M")) {
    if (e["name"] == "thread_name") names[e["tid"]] = e["args"]["name"];
    if (e["name"] == "thread_sort_index") order[e["args"]["sort_index"]] = names[e["tid"]];
  }
  std::vector<std::string> list;
  for (const auto& [index, name] : order) list.push_back(name);
  EXPECT_THAT(list, ElementsAre("compute", "bubbles", "recv", "send"));
}

/// A time of the file in ns; exact, as these times are small.
Nanoseconds ns(const json& time) { return std::llround(time.get<double>() * 1000); }

/// Checks that no two slices of a row share an instant, nor begin together.
void expectNoOverlap(const std::vector<json>& slices) {
  std::map<std::pair<int, int>, std::vector<std::pair<Nanoseconds, Nanoseconds>>> rows;
  for (const json& e : slices) {
    rows[{e["pid"], e["tid"]}].emplace_back(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]));
  }
  for (auto& [id, row] : rows) {
    std::sort(row.begin(), row.end());
    for (std::size_t i = 1; i < row.size(); ++i) {
      EXPECT_GE(row[i].first, row[i - 1].second);
      EXPECT_NE(row[i].first, row[i - 1].first);
    }
  }
}

TEST_F(ChromeWriterTest, OverlappingEventsAreSpreadOverNamedSubLanes) {
  Timeline t;
  add(t, 0, "send", JobKind::kSendForward, 0, 10'000);
  add(t, 0, "send", JobKind::kSendForward, 5'000, 15'000);
  add(t, 0, "send", JobKind::kSendForward, 6'000, 7'000);
  add(t, 0, "send", JobKind::kSendForward, 15'000, 16'000);
  t.sort();
  const auto slices = events(t, "X");
  expectNoOverlap(slices);
  std::vector<std::string> names;
  for (const json& e : events(t, "M")) {
    if (e["name"] == "thread_name") names.push_back(e["args"]["name"]);
  }
  EXPECT_THAT(names, ElementsAre("send", "send (2)", "send (3)"));
  EXPECT_EQ(slices[3]["tid"], slices[0]["tid"]);
}

TEST_F(ChromeWriterTest, EmptyAndTouchingEventsNeverNest) {
  Timeline t;
  for (int i = 0; i < 5; ++i) {
    add(t, 0, "compute", JobKind::kForward, i * 1000, i * 1000 + 1000);
    add(t, 0, "compute", JobKind::kForward, i * 1000, i * 1000);
    add(t, 0, "compute", JobKind::kForward, i * 1000 + 1000, i * 1000 + 1000);
  }
  t.sort();
  expectNoOverlap(events(t, "X"));
}

TEST_F(ChromeWriterTest, RandomTimelinesNeverNest) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    expectNoOverlap(events(test::randomTimeline(seed), "X"));
  }
}

// tr.b.ColorScheme's reservedColorsByName; any other name makes Catapult throw.
TEST_F(ChromeWriterTest, ColoursAreThoseThatCatapultReserves) {
  const std::set<std::string> reserved = {"thread_state_uninterruptible",
                                          "thread_state_iowait",
                                          "thread_state_running",
                                          "thread_state_runnable",
                                          "thread_state_sleeping",
                                          "thread_state_unknown",
                                          "background_memory_dump",
                                          "light_memory_dump",
                                          "detailed_memory_dump",
                                          "vsync_highlight_color",
                                          "generic_work",
                                          "good",
                                          "bad",
                                          "terrible",
                                          "black",
                                          "grey",
                                          "white",
                                          "yellow",
                                          "olive",
                                          "rail_response",
                                          "rail_animation",
                                          "rail_idle",
                                          "rail_load",
                                          "startup",
                                          "heap_dump_stack_frame",
                                          "heap_dump_object_type",
                                          "heap_dump_child_node_arrow",
                                          "cq_build_running",
                                          "cq_build_passed",
                                          "cq_build_failed",
                                          "cq_build_abandoned",
                                          "cq_build_attempt_runnig",
                                          "cq_build_attempt_passed",
                                          "cq_build_attempt_failed"};
  Timeline t;
  for (int i = 0; i < kJobKindCount; ++i) {
    add(t, 0, "compute", static_cast<JobKind>(i), i * 10, i * 10 + 10);
  }
  std::set<std::string> used;
  std::map<std::string, std::string> classOf;
  for (int i = 1; i < kBubbleClassCount; ++i) {
    add(t, 0, "bubbles", JobKind::kBubble, i * 10, i * 10 + 10).bubbleClass =
        static_cast<BubbleClass>(i);
  }
  for (const json& e : events(t, "X")) {
    if (!e.contains("cname")) continue;
    const auto color = e["cname"].get<std::string>();
    used.insert(color);
    if (e["args"].contains("class")) {
      const auto [other, isNew] = classOf.emplace(color, e["args"]["class"]);
      EXPECT_TRUE(isNew) << "no two classes look alike: " << e << " and " << other->second;
    }
  }
  for (const json& e : events(t, "X")) {
    if (e["cat"] == "bubble" || !e.contains("cname")) continue;
    EXPECT_FALSE(classOf.contains(e["cname"])) << "no job looks like a bubble: " << e;
  }
  EXPECT_EQ(classOf.size(), static_cast<std::size_t>(kBubbleClassCount - 1));
  EXPECT_GT(used.size(), 5U);
  for (const std::string& name : used) EXPECT_TRUE(reserved.contains(name)) << name;
}

TEST_F(ChromeWriterTest, BubblesCarryTheirClass) {
  Timeline t;
  Event& e = add(t, 0, "bubbles", JobKind::kBubble, 0, 10);
  e.bubbleClass = BubbleClass::kWarmUp;
  const json bubble = events(t, "X").at(0);
  EXPECT_EQ(bubble["name"], "bubble warm_up");
  EXPECT_EQ(bubble["args"]["class"], "warm_up");
  EXPECT_EQ(summary_.bubbles, 1);
}

TEST_F(ChromeWriterTest, TheSummaryCountsWhatIsInTheFile) {
  const Timeline t = test::oneFOneB(4, 8, 2);
  const auto slices = events(t, "X");
  EXPECT_EQ(summary_.jobs, 4 * 2 * (2 * 8 + 2));  // forward and backward, lr and optimizer
  EXPECT_EQ(summary_.transfers, 2 * 4 * 3 * 8 * 2 / 2);
  EXPECT_EQ(summary_.bubbles, 0);
  EXPECT_EQ(summary_.counters, 4 * 2 * 2);
  EXPECT_EQ(slices.size(), static_cast<std::size_t>(summary_.jobs + summary_.transfers));
  EXPECT_EQ(events(t, "C").size(), 16U);
  EXPECT_EQ(events(t, "s").size(), static_cast<std::size_t>(summary_.arrows));
  EXPECT_EQ(events(t, "f").size(), static_cast<std::size_t>(summary_.arrows));
}

TEST_F(ChromeWriterTest, EveryArrowLeavesOneSliceAndEndsInAnothersFirstNanosecond) {
  const Timeline t = test::oneFOneB(4, 4, 2);
  const auto slices = events(t, "X");
  const auto within = [&](const json& end) {
    return std::count_if(slices.begin(), slices.end(), [&](const json& e) {
      const Nanoseconds since = ns(end["ts"]) - ns(e["ts"]);
      return e["pid"] == end["pid"] && e["tid"] == end["tid"] && since > 0 && since < ns(e["dur"]);
    });
  };
  std::map<int, json> starts;
  for (const json& s : events(t, "s")) {
    EXPECT_EQ(within(s), 1);
    EXPECT_TRUE(starts.emplace(s["id"].get<int>(), s).second);  // ids are used once
  }
  for (const json& f : events(t, "f")) {
    EXPECT_EQ(within(f), 1);
    EXPECT_EQ(f["bp"], "e");
    const auto start = starts.find(f["id"].get<int>());
    ASSERT_NE(start, starts.end());
    EXPECT_LT(start->second["ts"].get<double>(), f["ts"].get<double>());
    EXPECT_TRUE(std::any_of(slices.begin(), slices.end(), [&](const json& e) {
      return ns(f["ts"]) - ns(e["ts"]) == 1 && e["pid"] == f["pid"] && e["tid"] == f["tid"];
    }));
  }
}

TEST_F(ChromeWriterTest, ArrowsCanBeLeftOut) {
  const std::string profile = text(test::oneFOneB(2, 2, 1), {.flows = false});
  EXPECT_THAT(profile, AllOf(Not(HasSubstr("\"ph\":\"s\"")), Not(HasSubstr("\"ph\":\"f\""))));
  EXPECT_EQ(summary_.arrows, 0);
}

TEST_F(ChromeWriterTest, OnlyCompleteEventsAreWritten) {
  const json all = json::parse(text(test::oneFOneB(2, 2, 1)));
  EXPECT_EQ(all["displayTimeUnit"], "ns");
  for (const json& e : all["traceEvents"]) {
    EXPECT_THAT(e["ph"].get<std::string>(), testing::AnyOf("X", "M", "C", "s", "f"));
  }
}

TEST_F(ChromeWriterTest, NamesWithAnyCharacterGiveStrictJson) {
  using namespace std::string_view_literals;
  Timeline t;
  const auto names = {"q\"uote"sv, "tab\there"sv, "\x01\x00\x1f"sv, "前向 😀"sv, "\xff\xfe"sv};
  Nanoseconds at = 0;
  for (const std::string_view name : names) {
    Event& e = add(t, 0, "compute", JobKind::kOther, at, at + 5);
    e.name = t.strings.intern(name);
    at += 10;
  }
  t.ranks[0].host = "\xff\"";
  std::vector<std::string> written;
  for (const json& e : events(t, "X")) written.push_back(e["name"]);
  EXPECT_THAT(written, ElementsAre("q\"uote", "tab\there", std::string("\x01\x00\x1f"sv), "前向 😀",
                                   "\ufffd\ufffd"));
}

TEST_F(ChromeWriterTest, ArgumentsNeverHideAField) {
  Timeline t;
  Event& e = add(t, 0, "compute", JobKind::kForward, 0, 5);
  e.step = 7;
  const StringId step = t.strings.intern("step");
  t.setArguments(e, std::vector{Argument::ofInteger(step, 1), Argument::ofInteger(step, 2)});
  const json args = events(t, "X").at(0)["args"];
  EXPECT_EQ(args, (json{{"step", 7}, {"arg.0.step", 1}, {"arg.1.step", 2}}));
}

TEST_F(ChromeWriterTest, NumbersThatAreNotFiniteAreNotWrittenAsSamples) {
  Timeline t;
  add(t, 0, "compute", JobKind::kForward, 0, 5);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  t.counters.push_back({0, "loss", "", {{0, 1.0}, {1, nan}}});
  EXPECT_EQ(events(t, "C").size(), 1U);
  EXPECT_EQ(summary_.counters, 1);
}

TEST_F(ChromeWriterTest, ATimelineOfMoreThanAYearIsRefused) {
  Timeline t;
  add(t, 0, "compute", JobKind::kForward, 0, 1);
  add(t, 0, "compute", JobKind::kForward, 367 * 86'400 * kNsPerSecond, 367 * 86'400 * kNsPerSecond);
  EXPECT_THAT([&] { text(t); }, ThrowsMessage<Error>(HasSubstr("more than a year apart")));
}

TEST_F(ChromeWriterTest, AnEmptyTimelineIsAnEmptyProfile) {
  const json all = json::parse(text(Timeline{}));
  EXPECT_TRUE(all["traceEvents"].empty());
}

TEST_F(ChromeWriterTest, TheTextDoesNotDependOnTheNumberOfThreads) {
  const Timeline t = test::oneFOneB(4, 16, 60);
  ASSERT_GT(t.eventCount(), 10'000U);
  const std::string one = text(t, {.threads = 1});
  const ProfileSummary summary = summary_;
  EXPECT_EQ(text(t, {.threads = 4}), one);
  EXPECT_EQ(summary_.jobs, summary.jobs);
  EXPECT_EQ(summary_.transfers, summary.transfers);
  EXPECT_EQ(summary_.arrows, summary.arrows);
}

TEST_F(ChromeWriterTest, AnArrowFromAJobAtTheEarliestPossibleTimeLeavesInsideIt) {
  Timeline t;
  constexpr Nanoseconds kEarliest = 1 - (Nanoseconds{1} << 62);
  for (const Nanoseconds begin : {kEarliest, kEarliest + 5}) {
    Event& e = add(t, 0, "compute", JobKind::kForward, begin, begin + 2);
    e.step = e.microBatch = 0;
  }
  const std::vector<json> ends = events(t, "s");
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0]["ts"], 0.001);
}

}  // namespace
}  // namespace pipetrace
