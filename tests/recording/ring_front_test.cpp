// The contents of a left-over ring file besides its jobs: clocks, texts, losses and the process.
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "parser/testing/load_timeline.h"
#include "profiler/cpu_stream.h"
#include "tests/recording/left_over.h"

namespace pipetrace {
namespace {

ring_format::FileHeader headerOf(const LeftOver& left) {
  ring_format::FileHeader header{};
  std::memcpy(&header, left.ringBytes().data(), sizeof(header));
  return header;
}

/// A CPU stream whose times are not known until the test says so.
class LateStream : public DeviceStream {
 public:
  bool marksTicks() const noexcept override { return true; }
  bool isAsynchronous() const noexcept override { return false; }
  void useClock(const HostClock& clock) noexcept override { cpu_.useClock(clock); }
  Mark mark() noexcept override { return cpu_.mark(); }
  bool resolve(Mark mark, Nanoseconds& time) noexcept override {
    return isKnown && cpu_.resolve(mark, time);
  }

  std::atomic<bool> isKnown = false;

 private:
  CpuStream cpu_;
};

TEST(RingFrontTest, UnresolvedTimesFollowTheComparisonsOfClocks) {
  LeftOver left;
  auto owned = std::make_unique<LateStream>();
  LateStream& stream = *owned;
  const StreamId copy = left.recorder.addStream("copy", std::move(owned));
  // Far from the first comparisons, and with others on both sides.
  for (int i = 0; i < 3; ++i) awaitLogThread();
  left.job(copy, 5, JobKind::kCopy);
  awaitLogThread();
  left.die();
  stream.isKnown = true;
  left.recorder.close();
  const Timeline recovered = left.load();
  Diagnostics none;
  const Timeline written = test::loadTimeline({left.original.folder()}, {}, none);
  const Event& found = recovered.findTrack(0, "copy")->events.at(0);
  const Event& expected = written.findTrack(0, "copy")->events.at(0);
  constexpr Nanoseconds kRounding = 10;
  EXPECT_LE(std::llabs(found.begin - expected.begin), kRounding);
  EXPECT_LE(std::llabs(found.end - expected.end), kRounding);
}

TEST(RingFrontTest, ATextWhoseAddressWasReusedIsTheNewText) {
  std::string action = "1F2";  // the recorder may read it until it closes
  LeftOver left;
  const auto record = [&](std::int64_t id) {
    left.recorder.begin(left.compute, {.id = id, .action = action.c_str()});
    left.recorder.end(left.compute);
  };
  record(1);
  left.recorder.flush();
  action[2] = '3';
  record(2);
  awaitLogThread();
  left.die();
  const Timeline timeline = left.load();
  std::vector<std::string> actions;
  for (const Event& event : timeline.findTrack(0, "compute")->events) {
    for (const Argument& each : timeline.argumentsOf(event)) {
      if (timeline.strings[each.key] == "action") {
        actions.emplace_back(timeline.strings[each.text]);
      }
    }
  }
  EXPECT_THAT(actions, testing::ElementsAre("1F2", "1F3"));
}

TEST(RingFrontTest, JobsWhoseTimesAreLostAreCounted) {
  class LostStream : public DeviceStream {
   public:
    Mark mark() noexcept override { return ++marks_; }
    bool resolve(Mark, Nanoseconds& time) noexcept override {
      time = kLost;
      return true;
    }

   private:
    Mark marks_ = 0;
  };
  LeftOver left;
  const StreamId copy = left.recorder.addStream("copy", std::make_unique<LostStream>());
  for (int i = 0; i < 3; ++i) left.job(copy, i, JobKind::kCopy);
  left.job(left.compute, 3);
  left.recorder.flush();
  left.die();
  EXPECT_EQ(headerOf(left).linesLost, 3u);
  EXPECT_EQ(left.load().ranks.at(0).dropped, 3);
}

TEST(RingFrontTest, TheProcessIsTheOneThatRecords) {
  LeftOver left;
  left.die();
  EXPECT_EQ(headerOf(left).pid, getpid());
  EXPECT_EQ(headerOf(left).version, ring_format::kVersion);
}

}  // namespace
}  // namespace pipetrace
