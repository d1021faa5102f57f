#include "parser/test_timelines.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <random>
#include <sstream>
#include <utility>
#include <vector>

#include "trace/decimal_time.h"
#include "trace/log_writer.h"

namespace pipetrace::test {
namespace {

constexpr Nanoseconds kForward = 10'000'001;
constexpr Nanoseconds kBackward = 20'000'003;
constexpr Nanoseconds kTransfer = 500'007;

/// Simulates a run of 1F1B into a timeline.
class Run {
 public:
  Run(int ranks, int microBatches) : ranks_(ranks), microBatches_(microBatches) {
    state_.resize(static_cast<std::size_t>(ranks));
    for (int r = 0; r < ranks; ++r) {
      at(r).free = at(r).sendFree = at(r).recvFree = kEpoch;
      RankInfo& info = timeline_.ranks[r];
      info.rank = r;
      info.worldSize = info.numStages = ranks;
      info.numMicroBatches = microBatches;
      info.numChunks = 1;
      info.schedule = "1F1B";
      info.host = "node a";
      info.device = "cpu:" + std::to_string(r);
      info.clockReadings.push_back({kEpoch, 17 * r, 3});
      info.hasEnd = true;
      info.written = 99;
      info.ownCost = 12345;
    }
  }

  Timeline take(int steps) {
    for (int step = 0; step < steps; ++step) addStep(step);
    timeline_.sort();
    return std::move(timeline_);
  }

 private:
  struct Rank {
    Nanoseconds free = 0;
    Nanoseconds sendFree = 0;
    Nanoseconds recvFree = 0;
    std::vector<std::pair<JobKind, int>> plan;
    std::size_t next = 0;
    std::vector<Nanoseconds> forwardSent;  // when the message to the next rank left, by micro-batch
    std::vector<Nanoseconds> backwardSent;  // to the rank before
    std::int64_t id = 0;
  };

  Rank& at(int rank) { return state_[static_cast<std::size_t>(rank)]; }

  void addStep(int step) {
    for (int r = 0; r < ranks_; ++r) {
      Rank& rank = at(r);
      rank.plan.clear();
      rank.next = 0;
      rank.forwardSent.assign(static_cast<std::size_t>(microBatches_), -1);
      rank.backwardSent = rank.forwardSent;
      const int warmUp = std::min(ranks_ - 1 - r, microBatches_);
      for (int m = 0; m < warmUp; ++m) rank.plan.emplace_back(JobKind::kForward, m);
      for (int m = warmUp; m < microBatches_; ++m) {
        rank.plan.emplace_back(JobKind::kForward, m);
        rank.plan.emplace_back(JobKind::kBackward, m - warmUp);
      }
      for (int m = microBatches_ - warmUp; m < microBatches_; ++m) {
        rank.plan.emplace_back(JobKind::kBackward, m);
      }
      addJob(r, step, JobKind::kLr, 0, rank.free, 1'000);
    }
    for (bool moved = true; moved;) {
      moved = false;
      for (int r = 0; r < ranks_; ++r) moved = tryNext(r, step) || moved;
    }
    for (int r = 0; r < ranks_; ++r) {
      addJob(r, step, JobKind::kOptimizer, 0, at(r).free, 2'000'000);
      addSample(r, "memory", "bytes", at(r).free, 1e9 + step);
      addSample(r, "loss", "", at(r).free, 1.0 / (step + 3));
    }
  }

  bool tryNext(int r, int step) {
    Rank& rank = at(r);
    if (rank.next == rank.plan.size()) return false;
    const auto [kind, m] = rank.plan[rank.next];
    const bool isForward = kind == JobKind::kForward;
    const int source = isForward ? r - 1 : r + 1;
    Nanoseconds ready = rank.free;
    if (source >= 0 && source < ranks_) {
      const auto& sent = isForward ? at(source).forwardSent : at(source).backwardSent;
      const Nanoseconds arrived = sent[static_cast<std::size_t>(m)];
      if (arrived < 0) return false;
      addTransfer(r, step, isForward ? JobKind::kRecvForward : JobKind::kRecvBackward, m, source,
                  std::min(rank.recvFree, arrived), arrived);
      rank.recvFree = arrived;
      ready = std::max(ready, arrived);
    }
    ++rank.next;
    addJob(r, step, kind, m, ready, isForward ? kForward : kBackward);
    const int target = isForward ? r + 1 : r - 1;
    if (target >= 0 && target < ranks_) {
      const Nanoseconds begin = std::max(rank.free, rank.sendFree);
      addTransfer(r, step, isForward ? JobKind::kSendForward : JobKind::kSendBackward, m, target,
                  begin, begin + kTransfer);
      rank.sendFree = begin + kTransfer;
      (isForward ? rank.forwardSent : rank.backwardSent)[static_cast<std::size_t>(m)] =
          rank.sendFree;
    }
    return true;
  }

  Event made(int r, int step, JobKind kind, int m, Nanoseconds begin, Nanoseconds end) {
    Event event;
    event.begin = begin;
    event.end = end;
    event.kind = kind;
    event.step = step;
    event.microBatch = m;
    event.stage = r;
    event.chunk = 0;
    return event;
  }

  void addJob(int r, int step, JobKind kind, int m, Nanoseconds begin, Nanoseconds length) {
    Event event = made(r, step, kind, m, begin, begin + length);
    event.job = at(r).id++;
    event.number = m;
    if (isCompute(kind)) {
      const std::string action =
          std::to_string(r) + (kind == JobKind::kForward ? "F" : "B") + std::to_string(m);
      const Argument argument =
          Argument::ofText(timeline_.strings.intern("action"), timeline_.strings.intern(action));
      timeline_.setArguments(event, {&argument, 1});
    }
    at(r).free = event.end;
    timeline_.track(r, kComputeLane).events.push_back(event);
  }

  void addTransfer(int r, int step, JobKind kind, int m, int peer, Nanoseconds begin,
                   Nanoseconds end) {
    Event event = made(r, step, kind, m, begin, end);
    event.peer = peer;
    event.job = at(r).id;
    const Argument argument = Argument::ofInteger(timeline_.strings.intern("bytes"), 4096);
    timeline_.setArguments(event, {&argument, 1});
    timeline_.track(r, isSend(kind) ? kSendLane : kRecvLane).events.push_back(event);
  }

  void addSample(int r, const char* name, const char* unit, Nanoseconds time, double value) {
    for (CounterSeries& series : timeline_.counters) {
      if (series.rank == r && series.name == name) return series.samples.push_back({time, value});
    }
    timeline_.counters.push_back({r, name, unit, {{time, value}}});
  }

  int ranks_;
  int microBatches_;
  std::vector<Rank> state_;
  Timeline timeline_;
};

/// Draws everything of a random timeline.
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
    if (chance()) info.flopsPerStep = 1e18 / 3;
    if (chance()) info.tokensPerStep = 4096;
    info.host = word();
    info.device = word();
    info.schedule = word();
    info.clock = word();
    const int readings = upTo(2);
    for (int i = 0; i < readings; ++i) info.clockReadings.push_back({kEpoch + i, -upTo(99), 7});
    info.hasEnd = chance();
    info.written = upTo(1000);
    info.dropped = upTo(1);
    info.errors = upTo(1);
    info.lateStarts = upTo(5);
    info.ownCost = std::int64_t{upTo(1 << 30)} * 1000;
    return info;
  }

  /// Every sample has a time of its own: the order of equal ones is not kept where some are no
  /// finite numbers.
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

template <typename Number>
std::string given(const std::optional<Number>& value) {
  std::ostringstream out;
  out.precision(17);
  if (value) out << *value;
  return value ? out.str() : "-";
}

void describe(std::ostream& out, const RankInfo& i) {
  out << "rank " << i.rank << " world " << given(i.worldSize) << " host '" << i.host << "' device '"
      << i.device << "' stages " << given(i.numStages) << " chunks " << given(i.numChunks)
      << " micro-batches " << given(i.numMicroBatches) << " schedule '" << i.schedule << "' dp "
      << given(i.dataParallelIndex) << " clock '" << i.clock << "' flops " << given(i.flopsPerStep)
      << " tokens " << given(i.tokensPerStep) << " end " << i.hasEnd << " " << i.written << " "
      << i.dropped << " " << i.errors << " " << i.lateStarts << " " << i.ownCost;
  for (const ClockReading& c : i.clockReadings) {
    out << " clock " << c.when << " " << c.offset << " " << c.bound;
  }
  out << "\n";
}

void describe(std::ostream& out, const Timeline& t, const Event& e) {
  out << "  " << e.begin << " " << e.end << " " << logName(e.kind) << " '" << t.strings[e.name]
      << "' job " << e.job << " step " << e.step << " mb " << e.microBatch << " stage " << e.stage
      << " peer " << e.peer << " number " << e.number << " chunk " << e.chunk << " part " << e.part
      << " class '" << bubbleClassName(e.bubbleClass) << "'";
  for (const Argument& a : t.argumentsOf(e)) {
    out << " [" << t.strings[a.key] << "]=";
    switch (a.type) {
      case ArgumentType::kInteger: out << "i" << a.integer; break;
      case ArgumentType::kReal: out << "r" << a.real; break;
      case ArgumentType::kText: out << "t'" << t.strings[a.text] << "'"; break;
    }
  }
  out << "\n";
}

StreamLine streamLineOf(const Timeline& t, const Track& track, const Event& e) {
  StreamLine line;
  line.type = logName(e.kind);
  line.microBatch = e.microBatch;
  line.begin = e.begin;
  line.end = e.end;
  line.stream = track.lane;
  line.peer = e.peer;
  line.job = e.job;
  line.step = e.step;
  line.stage = e.stage;
  line.chunk = e.chunk;
  for (const Argument& a : t.argumentsOf(e)) line.bytes = a.integer;
  return line;
}

JobLine jobLineOf(const Timeline& t, const Event& e) {
  JobLine line;
  line.type = logName(e.kind);
  line.number = e.number;
  line.microBatch = e.microBatch;
  line.begin = e.begin;
  line.end = e.end;
  line.id = e.job;
  line.step = e.step;
  line.stage = e.stage;
  line.chunk = e.chunk;
  line.stream = kComputeLane;
  for (const Argument& a : t.argumentsOf(e)) line.action = t.strings[a.text];
  return line;
}

}  // namespace

Timeline oneFOneB(int ranks, int microBatches, int steps) {
  return Run(ranks, microBatches).take(steps);
}

Timeline randomTimeline(std::uint32_t seed) { return Dice(seed).timeline(); }

std::string describe(const Timeline& timeline) {
  std::ostringstream out;
  out.precision(17);
  for (const auto& [rank, info] : timeline.ranks) {
    out << rank << ": ";
    describe(out, info);
  }
  for (const Track& track : timeline.tracks) {
    out << "track " << track.rank << " '" << track.lane << "'\n";
    for (const Event& event : track.events) describe(out, timeline, event);
  }
  for (const CounterSeries& series : timeline.counters) {
    out << "counter " << series.rank << " '" << series.name << "' '" << series.unit << "'";
    for (const CounterSample& s : series.samples) out << " " << s.time << "=" << s.value;
    out << "\n";
  }
  return out.str();
}

std::string logOf(const Timeline& timeline, int rank) {
  LogWriter writer(4711);
  writer.setNow(kEpoch);
  std::string log = "starting up\n";
  const RankInfo& info = timeline.ranks.at(rank);
  writer.appendMeta(log, info);
  for (const ClockReading& reading : info.clockReadings) writer.append(log, reading);
  for (const Track& track : timeline.tracks) {
    if (track.rank != rank) continue;
    for (const Event& event : track.events) {
      if (track.lane == kComputeLane) {
        writer.append(log, jobLineOf(timeline, event));
      } else {
        writer.append(log, streamLineOf(timeline, track, event));
      }
    }
  }
  for (const CounterSeries& series : timeline.counters) {
    for (const CounterSample& sample : series.samples) {
      if (series.rank != rank) continue;
      writer.append(log, CounterLine{series.name, sample.time, sample.value, series.unit});
    }
  }
  if (info.hasEnd) writer.appendEnd(log, info);
  return log + "bye\n";
}

}  // namespace pipetrace::test
