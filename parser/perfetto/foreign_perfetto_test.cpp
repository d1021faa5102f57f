// Perfetto traces that other programs wrote.
#include <gmock/gmock.h>
#include <zlib.h>

#include <protozero/pbf_writer.hpp>

#include "parser/foreign/names/given_names.h"
#include "parser/testing/perfetto.h"
#include "parser/testing/read_perfetto.h"

namespace pipetrace {
namespace {

using protozero::pbf_writer;
using test::readPerfetto;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A trace as another program writes it, packet by packet.
class ForeignTrace {
 public:
  template <typename Fill>
  ForeignTrace& packet(std::uint32_t sequence, Fill fill) {
    std::string bytes;
    {
      pbf_writer writer(bytes);
      writer.add_uint32(10, sequence);
      fill(writer);
    }
    pbf_writer(bytes_).add_message(1, bytes);
    return *this;
  }

  ForeignTrace& event(std::uint64_t time, std::uint64_t track, std::uint64_t type,
                      const std::string& name = "", std::uint64_t flags = 0) {
    return packet(7, [&](pbf_writer& w) {
      w.add_uint64(8, time);
      if (flags != 0) w.add_uint64(13, flags);
      pbf_writer e(w, 11);
      e.add_uint64(9, type);
      e.add_uint64(11, track);
      if (!name.empty()) e.add_string(23, name);
    });
  }

  ForeignTrace& process(std::uint64_t uuid, int pid, const std::string& name) {
    return packet(7, [&](pbf_writer& w) {
      pbf_writer d(w, 60);
      d.add_uint64(1, uuid);
      pbf_writer p(d, 3);
      p.add_int32(1, pid);
      p.add_string(6, name);
    });
  }

  ForeignTrace& thread(std::uint64_t uuid, int pid, int tid, const std::string& name) {
    return packet(7, [&](pbf_writer& w) {
      pbf_writer d(w, 60);
      d.add_uint64(1, uuid);
      pbf_writer t(d, 4);
      t.add_int32(1, pid);
      t.add_int32(2, tid);
      if (!name.empty()) t.add_string(5, name);
    });
  }

  ForeignTrace& track(std::uint64_t uuid, std::uint64_t parent, const std::string& name,
                      int order = 0) {
    return packet(7, [&](pbf_writer& w) {
      pbf_writer d(w, 60);
      d.add_uint64(1, uuid);
      d.add_string(2, name);
      if (parent != 0) d.add_uint64(5, parent);
      d.add_int32(12, order);
    });
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

TEST(ForeignPerfettoTest, ProcessesBecomeRanksAndThreadsLanes) {
  ForeignTrace trace;
  trace.process(1, 200, "trainer").thread(2, 200, 201, "main").thread(3, 100, 101, "");
  trace.event(1000, 2, test::kSliceBegin, "step")
      .event(1500, 2, test::kSliceBegin, "inner")
      .event(1600, 2, test::kSliceEnd);
  trace.event(2000, 2, test::kSliceEnd)
      .event(10, 3, test::kSliceBegin, "other")
      .event(20, 3, test::kSliceEnd);
  const test::Reading r = readPerfetto(trace.bytes());
  ASSERT_THAT(r.events(1, "main"), SizeIs(2));
  EXPECT_EQ(r.events(1, "main")[0].begin, 1000);
  EXPECT_EQ(r.events(1, "main")[0].end, 2000);
  EXPECT_EQ(r.timeline.strings[r.events(1, "main")[0].name], "step");
  EXPECT_EQ(r.events(1, "main")[1].duration(), 100);
  EXPECT_EQ(r.timeline.ranks.at(1).device, "trainer");
  EXPECT_EQ(r.timeline.ranks.at(0).device, "process 100");
  EXPECT_THAT(r.events(0, "thread 101"), SizeIs(1));
  EXPECT_THAT(r.diagnostics, IsEmpty());
}

TEST(ForeignPerfettoTest, KindsAreThoseOfTheUserOrOfTheName) {
  const KindsFile kinds =
      KindsFile::parse(R"j({"kinds":{"blk_(?P<micro_batch_id>[0-9]+)":"forward"}})j", "k.json");
  ForeignTrace trace;
  trace.thread(2, 200, 201, "main")
      .event(10, 2, test::kSliceBegin, "blk_4")
      .event(20, 2, test::kSliceEnd);
  trace.event(30, 2, test::kSliceBegin, "backward-compute").event(40, 2, test::kSliceEnd);
  const test::Reading r = readPerfetto(trace.bytes(), {.kinds = &kinds});
  ASSERT_THAT(r.events(0, "main"), SizeIs(2));
  EXPECT_EQ(r.events(0, "main")[0].kind, JobKind::kForward);
  EXPECT_EQ(r.events(0, "main")[0].microBatch, 4);
  EXPECT_EQ(r.events(0, "main")[1].kind, JobKind::kBackward);
}

TEST(ForeignPerfettoTest, TopLevelTracksBecomeRanksInTheirExplicitOrder) {
  ForeignTrace trace;
  trace.track(10, 0, "GPU b", 2).track(20, 0, "GPU a", 1).track(11, 10, "stream");
  trace.track(21, 20, "stream").track(30, 0, "alone");
  for (const std::uint64_t track : {11, 21, 30}) {
    trace.event(5, track, test::kSliceBegin, "kernel").event(6, track, test::kSliceEnd);
  }
  const test::Reading r = readPerfetto(trace.bytes(), {.nextRank = 4});
  EXPECT_EQ(r.timeline.ranks.at(4).device, "trace");
  EXPECT_THAT(r.events(4, "alone"), SizeIs(1));
  EXPECT_EQ(r.timeline.ranks.at(5).device, "GPU a");
  EXPECT_EQ(r.timeline.ranks.at(6).device, "GPU b");
  EXPECT_THAT(r.events(6, "stream"), SizeIs(1));
}

TEST(ForeignPerfettoTest, ArgumentsOfBothEndsAndCategoriesAreKept) {
  ForeignTrace trace;
  trace.packet(7, [](pbf_writer& w) {
    w.add_uint64(8, 5);
    pbf_writer e(w, 11);
    e.add_uint64(9, test::kSliceBegin);
    e.add_string(22, "gpu");
    e.add_string(22, "backward");
    e.add_string(23, "bwd");
    {
      pbf_writer a(e, 4);
      a.add_string(10, "size");
      a.add_uint64(3, 12);
    }
    {
      pbf_writer a(e, 4);
      a.add_string(10, "shape");
      pbf_writer list(a, 12);
      list.add_int64(4, 1);
    }
  });
  trace.packet(7, [](pbf_writer& w) {
    w.add_uint64(8, 9);
    pbf_writer e(w, 11);
    e.add_uint64(9, test::kSliceEnd);
    pbf_writer a(e, 4);
    a.add_string(10, "micro_batch");
    a.add_int64(4, 3);
  });
  const test::Reading r = readPerfetto(trace.bytes());
  ASSERT_THAT(r.events(0, "trace"), SizeIs(1));
  const Event& e = r.events(0, "trace")[0];
  EXPECT_EQ(e.kind, JobKind::kBackward);
  EXPECT_EQ(e.microBatch, 3);
  ASSERT_THAT(r.timeline.argumentsOf(e), SizeIs(1));
  EXPECT_EQ(r.timeline.argumentsOf(e)[0].integer, 12);
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("a list or a dictionary was left out")));
}

TEST(ForeignPerfettoTest, EventsOutOfOrderArePairedByTime) {
  ForeignTrace trace;
  trace.event(50, 0, test::kSliceBegin, "late")
      .event(60, 0, test::kSliceEnd)
      .event(10, 0, test::kSliceBegin, "early");
  trace.event(20, 0, test::kSliceEnd);
  const test::Reading r = readPerfetto(trace.bytes());
  ASSERT_THAT(r.events(0, "trace"), SizeIs(2));
  EXPECT_EQ(r.timeline.strings[r.events(0, "trace")[0].name], "early");
  EXPECT_EQ(r.events(0, "trace")[0].end, 20);
}

TEST(ForeignPerfettoTest, BeginsAndEndsWithoutPartnerAreReported) {
  ForeignTrace trace;
  trace.event(1, 0, test::kSliceEnd)
      .event(2, 0, test::kSliceBegin, "open")
      .event(3, 0, test::kSliceBegin, "x")
      .event(7, 0, test::kSliceEnd);
  const test::Reading r = readPerfetto(trace.bytes());
  ASSERT_THAT(r.events(0, "trace"), SizeIs(2));
  EXPECT_EQ(r.events(0, "trace")[0].end, 7);
  EXPECT_THAT(r.diagnostics,
              ElementsAre(HasSubstr("an end has no begin"), HasSubstr("a begin has no end")));
}

TEST(ForeignPerfettoTest, InternedNamesHoldUntilTheStateIsCleared) {
  constexpr std::uint64_t kCleared = 1;
  constexpr std::uint64_t kNeeds = 2;
  ForeignTrace trace;
  const auto named = [&](std::uint64_t time, std::uint64_t flags, const std::string& interned) {
    trace.packet(7, [&](pbf_writer& w) {
      w.add_uint64(8, time);
      w.add_uint64(13, flags);
      if (!interned.empty()) {
        pbf_writer d(w, 12);
        pbf_writer n(d, 2);
        n.add_uint64(1, 4);
        n.add_string(2, interned);
      }
      pbf_writer e(w, 11);
      e.add_uint64(9, test::kSliceBegin);
      e.add_uint64(10, 4);
    });
    trace.event(time + 1, 0, test::kSliceEnd, "", kNeeds);
  };
  named(10, kNeeds, "");  // the name that it refers to was never given
  named(20, kCleared | kNeeds, "first");
  named(30, kNeeds, "");
  named(40, kCleared | kNeeds, "second");
  const test::Reading r = readPerfetto(trace.bytes());
  std::vector<std::string> names;
  for (const Event& e : r.events(0, "trace")) names.emplace_back(r.timeline.strings[e.name]);
  EXPECT_THAT(names, ElementsAre("first", "first", "second"));
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("refers to what was lost before it")));
}

/// Perfetto's SDK writes microseconds since the event before, on a clock of the sequence.
TEST(ForeignPerfettoTest, IncrementalClocksAreFollowed) {
  ForeignTrace trace;
  trace.packet(7, [](pbf_writer& w) {
    {
      pbf_writer snapshot(w, 6);
      {
        pbf_writer boot(snapshot, 1);
        boot.add_uint64(1, 6);
        boot.add_uint64(2, 5'000'000);
      }
      pbf_writer own(snapshot, 1);
      own.add_uint64(1, 64);
      own.add_uint64(2, 100);
      own.add_bool(3, true);
      own.add_uint64(4, 1000);
    }
    pbf_writer defaults(w, 59);
    defaults.add_uint64(58, 64);
    pbf_writer events(defaults, 11);
    events.add_uint64(11, 77);
  });
  for (const std::uint64_t type : {test::kSliceBegin, test::kSliceEnd}) {
    trace.packet(7, [&](pbf_writer& w) {
      w.add_uint64(8, 3);
      pbf_writer e(w, 11);
      e.add_uint64(9, type);
      e.add_string(23, "x");
    });
  }
  const test::Reading r = readPerfetto(trace.bytes());
  ASSERT_THAT(r.events(0, "track 77"), SizeIs(1));
  EXPECT_EQ(r.events(0, "track 77")[0].begin, 5'003'000);
  EXPECT_EQ(r.events(0, "track 77")[0].end, 5'006'000);
  EXPECT_THAT(r.diagnostics, IsEmpty());
}

TEST(ForeignPerfettoTest, CompressedPacketsAreRead) {
  ForeignTrace inner;
  inner.event(1, 0, test::kSliceBegin, "packed").event(2, 0, test::kSliceEnd);
  std::string packed(1000, '\0');
  uLongf size = packed.size();
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                     reinterpret_cast<const Bytef*>(inner.bytes().data()), inner.bytes().size()),
            Z_OK);
  packed.resize(size);
  ForeignTrace outer;
  outer.packet(7, [&](pbf_writer& w) { w.add_bytes(50, packed); });
  EXPECT_THAT(readPerfetto(outer.bytes()).events(0, "trace"), SizeIs(1));
  ForeignTrace damaged;
  damaged.packet(7, [&](pbf_writer& w) { w.add_bytes(50, packed.substr(0, packed.size() - 5)); });
  EXPECT_THAT(readPerfetto(damaged.bytes()).diagnostics, testing::Contains(HasSubstr("damaged")));
}

TEST(ForeignPerfettoTest, CountersBecomeSeries) {
  ForeignTrace trace;
  trace.process(1, 5, "p");
  trace.packet(7, [](pbf_writer& w) {
    pbf_writer d(w, 60);
    d.add_uint64(1, 9);
    d.add_uint64(5, 1);
    d.add_string(2, "memory");
    pbf_writer c(d, 8);
    c.add_uint64(3, 3);
    c.add_int64(4, 1024);
  });
  for (int i = 1; i <= 2; ++i) {
    trace.packet(7, [&](pbf_writer& w) {
      w.add_uint64(8, static_cast<std::uint64_t>(10 * i));
      pbf_writer e(w, 11);
      e.add_uint64(9, 4);
      e.add_uint64(11, 9);
      e.add_int64(30, i);
    });
  }
  const test::Reading r = readPerfetto(trace.bytes());
  ASSERT_THAT(r.timeline.counters, SizeIs(1));
  const CounterSeries& series = r.timeline.counters[0];
  EXPECT_EQ(series.name, "memory");
  EXPECT_EQ(series.unit, "bytes");
  ASSERT_THAT(series.samples, SizeIs(2));
  EXPECT_EQ(series.samples[1].time, 20);
  EXPECT_EQ(series.samples[1].value, 2048);
}

TEST(ForeignPerfettoTest, EventsThatAreNoSlicesAreCountedAndReported) {
  ForeignTrace trace;
  trace.event(1, 0, test::kSliceBegin, "a").event(2, 0, test::kSliceEnd).event(3, 0, 3, "instant");
  trace.packet(7, [](pbf_writer& w) { w.add_bytes(1, std::string("ftrace")); });
  trace.packet(7, [](pbf_writer& w) {
    pbf_writer e(w, 11);
    e.add_uint64(9, test::kSliceBegin);
    e.add_string(23, "no time");
  });
  trace.packet(7, [](pbf_writer& w) {
    w.add_uint64(8, 100);
    w.add_uint64(58, 3);
    pbf_writer e(w, 11);
    e.add_uint64(9, test::kSliceBegin);
    e.add_string(23, "other clock");
  });
  const test::Reading r = readPerfetto(trace.bytes());
  EXPECT_EQ(r.timeline.eventCount(), 2U);
  EXPECT_THAT(r.diagnostics,
              ElementsAre(HasSubstr("no time that can be used"),
                          HasSubstr("is in no snapshot of clocks"), HasSubstr("an instant"),
                          HasSubstr("another data source"), HasSubstr("a begin has no end")));
}

TEST(ForeignPerfettoTest, OurMetadataThatMakesNoSenseDoesNoHarm) {
  for (const char* text : {"", "1", "{}", "{\"origin_ns\":1}", "{\"origin_ns\":\"0\",\"ranks\":3}",
                           "{\"origin_ns\":\"9223372036854775807\"}"}) {
    for (const char* lanes : {"", "[]", "[[0,0,\"compute\"]]", "[[0,-1,\"x\"],[1],3]"}) {
      ForeignTrace trace;
      for (const auto& [name, value] :
           {std::pair("pipetrace", text), std::pair("pipetrace_lanes", lanes)}) {
        trace.packet(7, [&, n = name, v = value](pbf_writer& w) {
          pbf_writer bundle(w, 5);
          pbf_writer entry(bundle, 2);
          entry.add_string(1, n);
          entry.add_string(2, v);
        });
      }
      trace.event(1, 0, test::kSliceBegin, "a").event(2, 0, test::kSliceEnd);
      const test::Reading r = readPerfetto(trace.bytes());
      // Either the event is there, or its loss is reported.
      EXPECT_TRUE(r.timeline.eventCount() == 1 || !r.diagnostics.empty()) << text << lanes;
    }
  }
}

}  // namespace
}  // namespace pipetrace
