#include "parser/testing/timelines.h"

#include <array>
#include <limits>
#include <random>
#include <vector>

namespace pipetrace::test {
namespace {

/// Draws all values of a random timeline.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : random_(seed) {}

  Timeline timeline() {
    Timeline t;
    const int tracks = upTo(6);
    for (int i = 0; i < tracks; ++i) addTrack(t);
    const int extraRanks = upTo(2);
    for (int i = 0; i < extraRanks; ++i) t.ranks[upTo(9)] = {};
    for (auto& [rank, info] : t.ranks) info = rankInfo(rank);
    const int counters = upTo(3);
    for (int i = 0; i < counters; ++i) addCounter(t, i);
    t.sort();
    return t;
  }

 private:
  int upTo(int most) { return static_cast<int>(random_() % static_cast<unsigned>(most + 1)); }
  bool chance() { return upTo(1) == 1; }
  int givenOrNot(int most) { return chance() ? upTo(most) : kNotGiven; }

  std::string word() {
    static const std::array<const char*, 18> kWords = {"forward",
                                                       "forward 1",
                                                       "前向 传播",
                                                       "quote\"d",
                                                       "back\\slash",
                                                       "tab\tnew\nline",
                                                       "\x01\x1f",
                                                       "step",
                                                       "arg.0.step",
                                                       "real.1.x",
                                                       "class",
                                                       "own_name",
                                                       "",
                                                       "π, = \"",
                                                       "send (2)",
                                                       "other",
                                                       "\xf0\x9f\x98\x80",
                                                       "bubble unknown"};
    return kWords[static_cast<std::size_t>(upTo(17))];
  }

  double real() {
    switch (upTo(6)) {
      case 0: return std::numeric_limits<double>::infinity();
      case 1: return -std::numeric_limits<double>::infinity();
      case 2: return std::numeric_limits<double>::quiet_NaN();
      case 3: return 4.0;
      case 4: return -0.0;
      case 5: return 1e300 / (1 + upTo(100));
      default: return 1.0 / (1 + upTo(100));
    }
  }

  void addTrack(Timeline& t) {
    static const std::array<const char*, 6> kLanes = {"compute", "send",     "recv",
                                                      "bubbles", "send (2)", "流 \"1\""};
    Track& track = t.track(upTo(4), kLanes[static_cast<std::size_t>(upTo(5))]);
    const int events = upTo(30);
    for (int i = 0; i < events; ++i) track.events.push_back(event(t));
  }

  Event event(Timeline& t) {
    Event e;
    e.begin = kEpoch + upTo(100) * 777;
    e.end = e.begin + (chance() ? upTo(5) * 777 : upTo(30'000));
    e.kind = static_cast<JobKind>(upTo(kJobKindCount - 1));
    e.job = chance() ? (std::int64_t{upTo(1 << 30)} << 32) : kNotGiven;
    e.step = givenOrNot(3);
    e.microBatch = givenOrNot(4);
    e.stage = givenOrNot(1 << 30);
    e.peer = givenOrNot(7);
    e.number = givenOrNot(1 << 30);
    e.chunk = static_cast<std::int16_t>(givenOrNot(32767));
    e.part = static_cast<std::int16_t>(givenOrNot(5));
    if (chance()) e.phase = static_cast<Phase>(upTo(kPhaseCount - 1));
    if (e.kind == JobKind::kBubble) {
      e.bubbleClass = static_cast<BubbleClass>(1 + upTo(kBubbleClassCount - 2));
    }
    e.name = chance() ? t.strings.intern(word()) : 0;
    std::vector<Argument> arguments;
    const int count = chance() ? upTo(4) : 0;
    for (int i = 0; i < count; ++i) {
      const StringId key = t.strings.intern(word());
      switch (upTo(2)) {
        case 0: arguments.push_back(Argument::ofInteger(key, std::int64_t(random_()) << 30)); break;
        case 1: arguments.push_back(Argument::ofReal(key, real())); break;
        default: arguments.push_back(Argument::ofText(key, t.strings.intern(word())));
      }
    }
    if (!arguments.empty()) t.setArguments(e, arguments);
    return e;
  }

  RankInfo rankInfo(int rank) {
    RankInfo info;
    info.rank = rank;
    if (chance()) info.worldSize = upTo(100);
    if (chance()) info.numStages = upTo(100);
    if (chance()) info.numChunks = upTo(100);
    if (chance()) info.numMicroBatches = upTo(100);
    if (chance()) info.dataParallelIndex = upTo(3);
    if (chance()) info.tensorParallelIndex = upTo(3);
    if (chance()) info.flopsPerStep = 1e18 / 3;
    if (chance()) info.tokensPerStep = 4096;
    info.host = word();
    info.device = word();
    info.schedule = word();
    if (chance()) info.ranksOfStage = "0,1/" + std::to_string(upTo(9));
    if (chance()) info.blocks = "3," + std::to_string(upTo(9));
    if (chance()) info.recomputedBlocks = "1," + std::to_string(upTo(9));
    info.clock = word();
    const int readings = upTo(2);
    for (int i = 0; i < readings; ++i) info.clockReadings.push_back({kEpoch + i, -upTo(99), 7});
    if (chance()) info.partBegins = {kEpoch, kEpoch + upTo(99)};
    info.isSelected = chance();
    info.hasEnd = chance();
    info.written = upTo(1000);
    info.dropped = upTo(1);
    info.errors = upTo(1);
    info.lateStarts = upTo(5);
    info.ownCost = std::int64_t{upTo(1 << 30)} * 1000;
    info.misuses = upTo(2);
    info.failedWrites = upTo(2);
    info.logThreadCost = chance() ? std::int64_t{upTo(1 << 30)} * 1000 : 0;
    return info;
  }

  /// Every sample has a time of its own, because the order of equal times is not kept where some
  /// values are no finite numbers.
  void addCounter(Timeline& t, int number) {
    CounterSeries series;
    series.rank = upTo(5);
    series.name = word() + std::to_string(number);
    series.unit = chance() ? "bytes" : "";
    const int samples = upTo(6);
    for (int i = 0; i < samples; ++i) series.samples.push_back({kEpoch + i * 1001, real()});
    t.counters.push_back(series);
  }

  std::mt19937 random_;
};

}  // namespace

Timeline randomTimeline(std::uint32_t seed) { return Dice(seed).timeline(); }

}  // namespace pipetrace::test
