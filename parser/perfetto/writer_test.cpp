#include "parser/perfetto/writer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "parser/chrome/write/writer.h"
#include "parser/testing/files.h"
#include "parser/testing/perfetto.h"
#include "parser/testing/timelines.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

using test::DecodedPerfetto;
using Packet = DecodedPerfetto::Packet;

class PerfettoWriterTest : public test::FolderTest {
 protected:
  DecodedPerfetto write(const Timeline& timeline, PerfettoOptions options = {}) {
    OutputFile out(path("p.pftrace"));
    summary_ = writePerfetto(timeline, options, out);
    out.commit();
    return DecodedPerfetto(contents("p.pftrace"));
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

std::vector<std::tuple<std::uint64_t, std::uint64_t, std::string>> edges(const DecodedPerfetto& d) {
  std::vector<std::tuple<std::uint64_t, std::uint64_t, std::string>> list;
  for (const Packet& p : d.packets) {
    if (p.isEvent) list.emplace_back(p.time, p.type, p.name);
  }
  return list;
}

TEST_F(PerfettoWriterTest, AnEventIsABeginWithAllItsFieldsAndAnEnd) {
  Timeline t;
  Event& e = add(t, 3, "compute", JobKind::kForward, test::kEpoch, test::kEpoch + 1'000'003);
  e.step = 7;
  e.microBatch = 2;
  e.job = 41;
  const StringId action = t.strings.intern("action");
  const StringId step = t.strings.intern("step");
  t.setArguments(e, std::vector{Argument::ofText(action, t.strings.intern("0F2")),
                                Argument::ofReal(step, 0.5)});
  const DecodedPerfetto d = write(t);
  EXPECT_THAT(edges(d), ElementsAre(std::tuple(0U, test::kSliceBegin, "forward 2"),
                                    std::tuple(1'000'003U, test::kSliceEnd, "")));
  const Packet begin = d.ofType(test::kSliceBegin).at(0);
  EXPECT_EQ(begin.category, "forward");
  EXPECT_EQ(begin.arguments, (std::map<std::string, std::string>{{"job", "41"},
                                                                 {"step", "7"},
                                                                 {"micro_batch", "2"},
                                                                 {"action", "0F2"},
                                                                 {"arg.1.step", "0.500000"}}));
}

TEST_F(PerfettoWriterTest, EveryLaneHasATrackAndASequenceThatBeginsWithAClearedState) {
  const DecodedPerfetto d = write(test::oneFOneB(3, 4, 2));
  std::map<std::uint64_t, std::uint64_t> trackOf;
  std::set<std::uint64_t> seen;
  for (const Packet& p : d.packets) {
    const bool isFirst = seen.insert(p.sequence).second;
    if (p.isEvent) {
      EXPECT_FALSE(isFirst);
      EXPECT_EQ(p.flags, 2U);  // SEQ_NEEDS_INCREMENTAL_STATE
      const auto [entry, isNew] = trackOf.emplace(p.sequence, p.track);
      EXPECT_EQ(entry->second, p.track);
      EXPECT_TRUE(d.tracks.contains(p.track));
    } else if (p.sequence > 1) {
      EXPECT_TRUE(isFirst);
      EXPECT_TRUE(p.isFirst);
      EXPECT_EQ(p.flags, 1U);  // SEQ_INCREMENTAL_STATE_CLEARED
    }
  }
  std::set<std::uint64_t> tracks;
  for (const auto& [sequence, track] : trackOf) EXPECT_TRUE(tracks.insert(track).second);
  EXPECT_EQ(tracks.size(), d.tracks.size() - 3);  // all but those of the ranks
}

TEST_F(PerfettoWriterTest, PacketsAreInTimeOrderAndEndsComeBeforeBegins) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const DecodedPerfetto d = write(test::randomTimeline(seed));
    std::uint64_t last = 0;
    std::map<std::uint64_t, std::vector<std::uint64_t>> open;
    std::uint64_t lastBegin = ~std::uint64_t{0};  // sequence of a begin directly before, at `last`
    for (const Packet& p : d.packets) {
      if (!p.isEvent) continue;
      ASSERT_GE(p.time, last) << "seed " << seed;
      if (p.type == test::kSliceBegin) {
        ASSERT_THAT(open[p.track], IsEmpty()) << "events of one track must not overlap";
        open[p.track].push_back(p.time);
      } else if (p.type == test::kSliceEnd) {
        ASSERT_THAT(open[p.track], SizeIs(1));
        const bool isEmpty = open[p.track].back() == p.time;
        // Nothing but its own begin stands between other begins of that time and this end.
        const bool isAfterBegin = p.time == last && lastBegin != ~std::uint64_t{0};
        ASSERT_TRUE(!isAfterBegin || lastBegin == p.sequence);
        ASSERT_TRUE(!isEmpty || lastBegin == p.sequence);
        open[p.track].clear();
      }
      if (p.time != last || p.type != test::kCounterValue) lastBegin = ~std::uint64_t{0};
      if (p.type == test::kSliceBegin) lastBegin = p.sequence;
      last = p.time;
    }
  }
}

TEST_F(PerfettoWriterTest, TouchingAndEmptyEventsKeepTheirPlace) {
  Timeline t;
  add(t, 0, "compute", JobKind::kForward, 100, 200);
  add(t, 0, "compute", JobKind::kLr, 200, 200);
  add(t, 0, "compute", JobKind::kBackward, 201, 300);
  EXPECT_THAT(edges(write(t)), ElementsAre(std::tuple(0U, test::kSliceBegin, "forward"),
                                           std::tuple(100U, test::kSliceEnd, ""),
                                           std::tuple(100U, test::kSliceBegin, "lr"),
                                           std::tuple(100U, test::kSliceEnd, ""),
                                           std::tuple(101U, test::kSliceBegin, "backward"),
                                           std::tuple(200U, test::kSliceEnd, "")));
}

TEST_F(PerfettoWriterTest, OverlappingEventsGetTracksOfTheirOwn) {
  Timeline t;
  add(t, 0, "send", JobKind::kSendForward, 0, 10);
  add(t, 0, "send", JobKind::kSendForward, 5, 20);
  add(t, 0, "send", JobKind::kSendForward, 10, 30);
  const DecodedPerfetto d = write(t);
  std::vector<std::string> names;
  for (const Packet& p : d.ofType(test::kSliceBegin)) names.push_back(d.tracks.at(p.track).name);
  EXPECT_THAT(names, ElementsAre("send", "send (2)", "send"));
}

/// The tracks as a viewer shows them, in the order that they give.
std::vector<std::string> shown(const DecodedPerfetto& d, std::uint64_t parent,
                               const std::string& indent) {
  std::vector<std::pair<std::int64_t, std::uint64_t>> children;
  for (const auto& [uuid, track] : d.tracks) {
    if (track.parent == parent) children.emplace_back(track.order, uuid);
  }
  std::sort(children.begin(), children.end());
  std::vector<std::string> list;
  for (const auto& [order, uuid] : children) {
    list.push_back(indent + d.tracks.at(uuid).name);
    for (std::string& below : shown(d, uuid, indent + " ")) list.push_back(std::move(below));
  }
  return list;
}

TEST_F(PerfettoWriterTest, RanksAreInOrderAndTheComputeLaneIsFirst) {
  Timeline t;
  for (const int rank : {9, 2}) {
    for (const char* lane : {"send", "compute", "bubbles", "all"}) {
      add(t, rank, lane, JobKind::kOther, 0, 1);
    }
  }
  t.counters.push_back({2, "memory", "bytes", {{0, 1.0}}});
  t.sort();
  EXPECT_THAT(shown(write(t), 0, ""),
              ElementsAre("rank 2", " compute", " bubbles", " all", " send", " memory", "rank 9",
                          " compute", " bubbles", " all", " send"));
}

TEST_F(PerfettoWriterTest, RanksOfTwoDigitsStandBelowATrackThatOrdersThem) {
  // Perfetto shows top-level tracks in the order of their names: rank 10 before rank 2.
  Timeline t;
  for (const int rank : {10, 2, 100}) add(t, rank, "compute", JobKind::kLr, 0, 1);
  t.sort();
  EXPECT_THAT(shown(write(t), 0, ""), ElementsAre("ranks", " rank 2", "  compute", " rank 10",
                                                  "  compute", " rank 100", "  compute"));
}

TEST_F(PerfettoWriterTest, CountsAreThoseOfTheChromeProfile) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const Timeline t = seed == 0 ? test::oneFOneB(4, 8, 2) : test::randomTimeline(seed);
    const DecodedPerfetto d = write(t);
    OutputFile out("/dev/null");
    const auto chrome = writeChromeJson(t, {}, out);
    EXPECT_EQ(summary_.jobs, chrome.jobs);
    EXPECT_EQ(summary_.transfers, chrome.transfers);
    EXPECT_EQ(summary_.bubbles, chrome.bubbles);
    EXPECT_EQ(summary_.arrows, chrome.arrows);
    EXPECT_EQ(summary_.counters, chrome.counters);
    const auto slices = static_cast<std::size_t>(summary_.jobs + summary_.transfers +
                                                 summary_.others + summary_.bubbles);
    EXPECT_THAT(d.ofType(test::kSliceBegin), SizeIs(slices));
    EXPECT_THAT(d.ofType(test::kSliceEnd), SizeIs(slices));
    EXPECT_THAT(d.ofType(test::kCounterValue), SizeIs(static_cast<std::size_t>(summary_.counters)));
  }
}

TEST_F(PerfettoWriterTest, EveryFlowPassesAtLeastTwoSlicesAndTerminatesOnce) {
  const DecodedPerfetto d = write(test::oneFOneB(4, 4, 2));
  std::map<std::uint64_t, int> passed;
  std::set<std::uint64_t> over;
  std::int64_t arrows = 0;
  for (const Packet& p : d.ofType(test::kSliceBegin)) {
    for (const std::uint64_t flow : p.flows) {
      EXPECT_FALSE(over.contains(flow));
      if (passed[flow]++ > 0) ++arrows;
    }
    for (const std::uint64_t flow : p.lastFlows) {
      EXPECT_GT(passed[flow], 0);
      EXPECT_TRUE(over.insert(flow).second);
      ++arrows;
    }
  }
  EXPECT_EQ(over.size(), passed.size());
  EXPECT_THAT(over, SizeIs(4 * 2));  // one per micro-batch and step
  EXPECT_EQ(arrows, summary_.arrows);
  EXPECT_GT(arrows, 0);
}

TEST_F(PerfettoWriterTest, FlowsCanBeLeftOut) {
  for (const Packet& p : write(test::oneFOneB(2, 2, 1), {.flows = false}).packets) {
    EXPECT_THAT(p.flows, IsEmpty());
    EXPECT_THAT(p.lastFlows, IsEmpty());
  }
  EXPECT_EQ(summary_.arrows, 0);
}

TEST_F(PerfettoWriterTest, CountersAreTracksOfTheirRankAlsoWithoutAUnit) {
  Timeline t;
  add(t, 0, "compute", JobKind::kLr, 100, 105);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  t.counters.push_back({0, "loss", "", {{100, 1.5}, {101, nan}, {102, 0.25}}});
  t.counters.push_back({0, "memory", "bytes", {{100, 7.0}}});
  const DecodedPerfetto d = write(t);
  std::vector<std::string> samples;
  for (const Packet& p : d.ofType(test::kCounterValue)) {
    const DecodedPerfetto::TrackDescriptor& track = d.tracks.at(p.track);
    EXPECT_TRUE(track.isCounter);
    EXPECT_EQ(d.tracks.at(track.parent).name, "rank 0");
    samples.push_back(track.name + " " + std::to_string(p.time) + " " + std::to_string(p.value));
  }
  EXPECT_THAT(samples, ElementsAre("loss 0 1.500000", "memory 0 7.000000", "loss 2 0.250000"));
  EXPECT_EQ(summary_.counters, 3);
}

TEST_F(PerfettoWriterTest, BubblesCarryTheirClass) {
  Timeline t;
  Event& e = add(t, 0, "bubbles", JobKind::kBubble, 0, 10);
  e.bubbleClass = BubbleClass::kWarmUp;
  const Packet begin = write(t).ofType(test::kSliceBegin).at(0);
  EXPECT_EQ(begin.name, "bubble warm_up");
  EXPECT_EQ(begin.arguments.at("class"), "warm_up");
  EXPECT_EQ(summary_.bubbles, 1);
}

TEST_F(PerfettoWriterTest, ATimelineOfMoreThanAYearIsRefused) {
  Timeline t;
  add(t, 0, "compute", JobKind::kForward, 0, 1);
  add(t, 0, "compute", JobKind::kForward, 367 * 86'400 * kNsPerSecond, 367 * 86'400 * kNsPerSecond);
  EXPECT_THAT([&] { write(t); }, ThrowsMessage<Error>(HasSubstr("more than a year apart")));
}

TEST_F(PerfettoWriterTest, AnEmptyTimelineIsAnEmptyProfile) {
  EXPECT_THAT(edges(write(Timeline{})), IsEmpty());
}

}  // namespace
}  // namespace pipetrace
