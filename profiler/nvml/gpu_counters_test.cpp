// Figures of a GPU, from NVML to the lines of a log. The NVML that is loaded is fake_nvml.
#include "profiler/nvml/gpu_counters.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "profiler/cpu_stream.h"
#include "profiler/cuda/stream.h"
#include "profiler/recorder.h"
#include "profiler/testing/environment.h"
#include "profiler/testing/fake_cuda.h"
#include "profiler/testing/fake_nvml.h"
#include "profiler/testing/recorder_fixture.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int kNotSupported = 3;
constexpr int kNoPermission = 4;
constexpr int kDriverNotLoaded = 9;
constexpr int kGpuIsLost = 15;

/// What a log says of the GPU: by name, the values with their unit, "1980 MHz".
using Figures = std::map<std::string, std::vector<std::string>>;

class GpuCountersTest : public testing::Test {
 protected:
  GpuCountersTest() { fakeNvmlReset(); }
  ~GpuCountersTest() override {
    EXPECT_EQ(fakeNvmlUsers(), 0);
    EXPECT_EQ(fakeNvmlMisuses(), 0);
  }

  void open(const StepRange& steps = {}) {
    RecorderOptions options = optionsFor(log);
    options.steps = steps;
    recorder = std::make_unique<Recorder>(options);
  }
  StreamId add(const char* name, int device) {
    return recorder->addStream(
        name, std::make_unique<CudaStream>(std::make_shared<CudaDevice>(cuda, device),
                                           cuda->newStream(device)));
  }
  /// What the log of a short run on that device of CUDA says. There are two samples of each figure,
  /// unless the first is the last.
  Figures figures(int device = 0) {
    open();
    const StreamId compute = add("compute", device);
    recorder->begin(compute, {.kind = JobKind::kForward, .step = 0});
    recorder->end(compute);
    cuda->advance(kNsPerSecond);
    return close();
  }
  Figures close() {
    recorder->close();
    recorder.reset();
    Figures found;
    const std::regex pattern(R"(name = (\S+), time = \S+, value = ([^,]+)(?:, unit = (\S+))?)");
    for (const std::string& line : log.lines("Profiler Counter: ")) {
      std::smatch match;
      EXPECT_TRUE(std::regex_match(line, match, pattern)) << line;
      const std::string unit = match[3];
      found[match[1]].push_back(match[2].str() + (unit.empty() ? "" : " ") + unit);
    }
    return found;
  }
  /// The last value; empty: none.
  static std::string lastOf(const Figures& figures, const std::string& name) {
    const auto found = figures.find(name);
    return found == figures.end() ? "" : found->second.back();
  }
  /// The figures that are gone when this function of NVML returns that error.
  std::vector<std::string> lostWithout(const char* function, int error = kNotSupported,
                                       int number = -1) {
    const Figures all = figures();
    fakeNvmlFail(function, error, number);
    std::filesystem::remove(log.path());
    const Figures left = figures();
    fakeNvmlFail(function, 0, number);
    std::filesystem::remove(log.path());
    std::vector<std::string> lost;
    for (const auto& [name, values] : all) {
      if (left.count(name) == 0) {
        lost.push_back(name);
      } else {
        EXPECT_EQ(left.at(name).back(), values.back()) << name;
      }
    }
    return lost;
  }

  const Environment clean;
  RecordedLog log;
  std::shared_ptr<FakeCuda> cuda = std::make_shared<FakeCuda>(FakeCudaBehaviour{.hasUuids = true});
  std::unique_ptr<Recorder> recorder;
};

TEST_F(GpuCountersTest, EachFigureIsACounterWithItsUnit) {
  std::vector<std::string> last;
  for (const auto& [name, values] : figures()) last.push_back(name + " " + values.back());
  EXPECT_THAT(last,
              ElementsAre("gpu_board_limit_violation 123456789012348 ns",
                          "gpu_clock_event_reasons 36",  //
                          "gpu_memory_of_others 512345678 bytes",
                          "gpu_nvlink_errors 18887",  //
                          "gpu_power 612.345 W",      //
                          "gpu_power_limit 700 W",    //
                          "gpu_power_violation 123456789012345 ns",
                          "gpu_reliability_violation 123456789012350 ns",
                          "gpu_sm_clock 1980 MHz",  //
                          "gpu_temperature 71 C", "gpu_thermal_violation 123456789012346 ns"));
  EXPECT_EQ(log.number(kEnd, "dropped"), 0);
  EXPECT_EQ(log.number(kEnd, "errors"), 0);
}

TEST_F(GpuCountersTest, TheGpuIsFoundByItsUuidWhateverItsNumber) {
  EXPECT_EQ(lastOf(figures(1), "gpu_sm_clock"), "1410 MHz") << "NVML's first";
  std::filesystem::remove(log.path());
  EXPECT_EQ(lastOf(figures(0), "gpu_sm_clock"), "1980 MHz") << "NVML's second";
}

TEST_F(GpuCountersTest, OfSeveralGpusThatOfTheFirstStreamIsSampled) {
  open();
  recorder->addStream("data", std::make_unique<CpuStream>());
  add("compute", 1);
  add("send", 0);
  EXPECT_EQ(lastOf(close(), "gpu_sm_clock"), "1410 MHz");
}

TEST_F(GpuCountersTest, WhatAGpuDoesNotSupportIsAbsentAndNeverZero) {
  EXPECT_THAT(lostWithout("nvmlDeviceGetClockInfo"), ElementsAre("gpu_sm_clock"));
  EXPECT_THAT(lostWithout("nvmlDeviceGetPowerUsage"), ElementsAre("gpu_power"));
  EXPECT_THAT(lostWithout("nvmlDeviceGetEnforcedPowerLimit"), ElementsAre("gpu_power_limit"));
  EXPECT_THAT(lostWithout("nvmlDeviceGetTemperature", kGpuIsLost), ElementsAre("gpu_temperature"));
  EXPECT_THAT(lostWithout("nvmlDeviceGetCurrentClocksEventReasons"),
              ElementsAre("gpu_clock_event_reasons"));
  EXPECT_THAT(lostWithout("nvmlDeviceGetViolationStatus", kNotSupported, 1),
              ElementsAre("gpu_thermal_violation"));
  EXPECT_THAT(lostWithout("nvmlDeviceGetViolationStatus", kNoPermission),
              ElementsAre("gpu_board_limit_violation", "gpu_power_violation",
                          "gpu_reliability_violation", "gpu_thermal_violation"));
  EXPECT_THAT(lostWithout("nvmlDeviceGetNvLinkState"), ElementsAre("gpu_nvlink_errors"));
  EXPECT_THAT(lostWithout("nvmlDeviceGetNvLinkErrorCounter"), ElementsAre("gpu_nvlink_errors"));
  EXPECT_THAT(lostWithout("nvmlDeviceGetMemoryInfo_v2"), ElementsAre("gpu_memory_of_others"));
  EXPECT_THAT(lostWithout("nvmlDeviceGetComputeRunningProcesses_v3"),
              ElementsAre("gpu_memory_of_others"));
}

TEST_F(GpuCountersTest, MemoryOfOthersIsAbsentWhereThisProcesssOwnIsNotKnown) {
  fakeNvmlSetMemory(1000, 2000, false);
  EXPECT_EQ(lastOf(figures(), "gpu_memory_of_others"), "");
  std::filesystem::remove(log.path());
  fakeNvmlSetMemory(nvml::kNotAvailable, 2000, true);
  EXPECT_EQ(lastOf(figures(), "gpu_memory_of_others"), "");
  std::filesystem::remove(log.path());
  fakeNvmlSetMemory(1000, 0, true);
  EXPECT_EQ(lastOf(figures(), "gpu_memory_of_others"), "0 bytes") << "it is known";
}

TEST_F(GpuCountersTest, ErrorsOfLinksAreOfTheKindsThatTheGpuCountsAtTheStart) {
  fakeNvmlFail("nvmlDeviceGetNvLinkErrorCounter", kNotSupported, 3);
  open();
  add("compute", 0);
  recorder->flush();
  fakeNvmlFail("nvmlDeviceGetNvLinkErrorCounter", kGpuIsLost, 2);
  EXPECT_THAT(close()["gpu_nvlink_errors"], ElementsAre("1887")) << "a part of it is no sum";
}

TEST_F(GpuCountersTest, AShortRunHasASampleOfItsStartAndOneOfItsEnd) {
  open();
  add("compute", 0);
  recorder->flush();
  fakeNvmlSetClock(1, 345);
  EXPECT_THAT(close()["gpu_sm_clock"], ElementsAre("1980 MHz", "345 MHz"));
}

TEST_F(GpuCountersTest, ThereIsOneSampleASecondAndMissedOnesAreNotMadeUpFor) {
  std::vector<CounterRing::Slot> slots(1024);
  std::uint64_t freed = 0;
  std::uint64_t dropped = 0;
  CounterRing ring(slots.data(), slots.size(), freed, dropped);
  GpuCounters counters;
  const auto samplesAt = [&](std::int64_t milliseconds, bool isWanted = true, bool isLast = false) {
    const Nanoseconds now = 1000 * kNsPerSecond + milliseconds * kNsPerMs;
    counters.sample(ring, now, isWanted, isLast);
    int samples = 0;
    while (const CounterRing::Slot* const slot = ring.take()) {
      EXPECT_EQ(slot->monotonic, now);
      ring.free(1);
      ++samples;
    }
    return samples == 11;
  };
  EXPECT_FALSE(samplesAt(0)) << "it has no GPU yet";
  counters.watch("GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
  EXPECT_TRUE(samplesAt(10));
  EXPECT_FALSE(samplesAt(900));
  EXPECT_TRUE(samplesAt(1090)) << "80 ms late";
  EXPECT_TRUE(samplesAt(2010)) << "the next one is not";
  EXPECT_TRUE(samplesAt(7500));
  EXPECT_FALSE(samplesAt(7600));
  EXPECT_FALSE(samplesAt(8500, false)) << "it is not wanted";
  EXPECT_FALSE(samplesAt(8600)) << "it is not made up for";
  EXPECT_TRUE(samplesAt(8700, true, true)) << "the last one";
  EXPECT_FALSE(samplesAt(8700, true, true));
}

TEST_F(GpuCountersTest, NoSampleIsOfAStepThatIsNotRecorded) {
  open({.first = 5, .end = 6});
  recorder->beginStep(0);
  add("compute", 0);
  recorder->flush();
  EXPECT_THAT(close(), IsEmpty());
}

TEST_F(GpuCountersTest, NoThreadOfTheProgramCallsNvml) {
  const std::int64_t before = fakeNvmlCallsOfThisThread();
  EXPECT_THAT(figures(), SizeIs(11));
  EXPECT_GT(fakeNvmlCalls(), 0);
  EXPECT_EQ(fakeNvmlCallsOfThisThread(), before);
}

TEST_F(GpuCountersTest, SwitchedOffNvmlIsNotCalled) {
  setenv("PIPETRACE_NVML", "0", 1);
  EXPECT_THAT(figures(), IsEmpty());
  EXPECT_EQ(fakeNvmlCalls(), 0);
  EXPECT_THAT(log.lines(kInfo), SizeIs(1));
}

TEST_F(GpuCountersTest, ASwitchWithoutAMeaningIsRefusedBeforeAnyFileIsTouched) {
  setenv("PIPETRACE_NVML", "sometimes", 1);
  EXPECT_THAT(messageOf([&] { open(); }), HasSubstr("PIPETRACE_NVML is \"sometimes\""));
  EXPECT_TRUE(std::filesystem::is_empty(log.folder()));
}

TEST_F(GpuCountersTest, ARecorderWithoutAGpuDoesNotCallNvml) {
  open();
  recorder->addStream("compute", std::make_unique<CpuStream>());
  recorder->flush();
  EXPECT_THAT(close(), IsEmpty());
  EXPECT_EQ(fakeNvmlCalls(), 0);
}

TEST_F(GpuCountersTest, WhereNvmlRefusesJobsAreRecordedWithoutFigures) {
  for (const char* function : {"nvmlInit_v2", "nvmlDeviceGetHandleByUUID"}) {
    fakeNvmlFail(function, kDriverNotLoaded);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    EXPECT_THAT(figures(), IsEmpty()) << function;
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_THAT(log.lines(kInfo), SizeIs(1));
    EXPECT_EQ(log.number(kEnd, "errors"), 0);
    fakeNvmlFail(function, 0);
    std::filesystem::remove(log.path());
  }
}

}  // namespace
}  // namespace pipetrace
