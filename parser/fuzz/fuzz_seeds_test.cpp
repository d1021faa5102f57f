#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <map>
#include <random>

#include "parser/fuzz/ring_image.h"
#include "parser/fuzz/seeds.h"
#include "parser/fuzz/targets.h"
#include "parser/ring/ring_file_reader.h"
#include "parser/testing/files.h"
#include "parser/testing/timelines.h"
#include "trace/log/ring_format.h"
#include "trace/testing/is_sanitized.h"

namespace pipetrace {
namespace {

class FuzzSeedsTest : public test::FolderTest {};

/// `bytes` with some of them changed, removed or doubled.
std::string mutated(std::string bytes, std::mt19937& random) {
  const std::size_t changes = 1 + random() % 8;
  for (std::size_t i = 0; i < changes && !bytes.empty(); ++i) {
    const std::size_t at = random() % bytes.size();
    switch (random() % 4) {
      case 0: bytes[at] = static_cast<char>(random() % 256); break;
      case 1: bytes.erase(at, random() % 40); break;
      case 2: bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 40)); break;
      default: bytes.insert(at, 1, "\"\\{}[],=\n\0"[random() % 10]); break;
    }
  }
  return bytes;
}

TEST_F(FuzzSeedsTest, SeedsAndDamagedCopiesBreakNoReader) {
  std::mt19937 random(21);
  const auto seeds = fuzz::makeSeeds(folder_.string());
  for (const auto& [name, inputs] : seeds) {
    const fuzz::Target& target = fuzz::targets().at(name);
    for (const std::string& input : inputs) {
      target.run(input);
      const int damaged = std::max(1, test::drawn(target.damagedSeeds));
      for (int i = 0; i < damaged; ++i) target.run(mutated(input, random));
    }
  }
  EXPECT_EQ(seeds.size(), fuzz::targets().size());
}

TEST_F(FuzzSeedsTest, SeedsOfRingFilesHoldAllTheirParts) {
  Timeline timeline;
  Diagnostics diagnostics;
  ByteSource source("ring", fuzz::ringOf(fuzz::sampleRingImage()));
  EXPECT_EQ(RingFileReader().read(source, {}, timeline, diagnostics).events, 6);
  ASSERT_NE(timeline.findTrack(1, kComputeLane), nullptr);
  EXPECT_EQ(timeline.findTrack(1, kComputeLane)->events.size(), 3U);
  EXPECT_EQ(timeline.counters.size(), 1U);
  EXPECT_EQ(diagnostics.list().size(), 4U);  // read from here, two open jobs, dropped ones
}

TEST_F(FuzzSeedsTest, CountsOfRingFilesStopAtTheLargestNumber) {
  std::string ring = fuzz::ringOf(fuzz::sampleRingImage());
  const std::uint64_t at = ring_format::kFrontSize + offsetof(ring_format::LaneHeader, dropped);
  ASSERT_EQ(ring[at], 2);
  for (const std::uint64_t lane : {std::uint64_t{0}, ring_format::laneSize(4)}) {
    ring.replace(at + lane, 8, "\xff\xff\xff\xff\xff\xff\xff\x7f");
  }
  Timeline timeline;
  Diagnostics diagnostics;
  ByteSource source("ring", ring);
  RingFileReader().read(source, {}, timeline, diagnostics);
  EXPECT_EQ(timeline.ranks.at(1).dropped, std::numeric_limits<std::int64_t>::max());
}

TEST_F(FuzzSeedsTest, AnchorsBeforeTheStartOfTheClockAreLeftOut) {
  std::string ring = fuzz::ringOf(fuzz::sampleRingImage());
  const auto read = [&ring] {
    Timeline timeline;
    Diagnostics diagnostics;
    ByteSource source("ring", ring);
    RingFileReader().read(source, {}, timeline, diagnostics);
    return test::describe(timeline);
  };
  const std::string before = read();  // its three anchors are on one line
  const std::uint64_t at =
      offsetof(ring_format::FileHeader, anchors) + offsetof(ClockAnchor, monotonic);
  const Nanoseconds least = kNsMin;
  std::memcpy(ring.data() + at, &least, sizeof(least));
  EXPECT_EQ(read(), before);
}

TEST_F(FuzzSeedsTest, OddInputsBreakNothing) {
  using namespace std::string_literals;
  for (const std::string& bytes :
       {""s, "\n"s, "\0"s, "Profiler Info: "s, "Profiler Meta: rank = -1\n"s, "[[[[[["s,
        "{\"traceEvents\":[{\"ph\":\"X\""s, "[{\"ph\":\"E\",\"ts\":1}]"s,
        "[{\"ph\":\"X\",\"ts\":9223372036854775,\"dur\":9223372036854775}]"s, "\x1f\x8b\x08"s,
        "\x0a\xff\xff\xff\xff\x0f"s, "SQLite format 3\0"s, "{\"event\":{{{"s}) {
    for (const auto& [name, target] : fuzz::targets()) target.run(bytes);
  }
}

}  // namespace
}  // namespace pipetrace
