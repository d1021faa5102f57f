// The NVML that is loaded is fake_nvml without the names that newer drivers have.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include "profiler/cuda/stream.h"
#include "profiler/recorder.h"
#include "profiler/testing/fake_cuda.h"
#include "profiler/testing/fake_nvml.h"
#include "profiler/testing/recorder_fixture.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(OlderDriverTest, ReasonsOfClockEventsComeFromTheFunctionsOlderName) {
  ASSERT_EQ(fakeNvmlCalls(), 0);
  ASSERT_EQ(dlsym(RTLD_DEFAULT, "nvmlDeviceGetCurrentClocksEventReasons"), nullptr);
  const RecordedLog log;
  const auto cuda = std::make_shared<FakeCuda>(FakeCudaBehaviour{.hasUuids = true});
  Recorder recorder(optionsFor(log));
  recorder.addStream("compute", std::make_unique<CudaStream>(std::make_shared<CudaDevice>(cuda, 0),
                                                             cuda->newStream()));
  recorder.close();
  const std::vector<std::string> lines = log.lines("Profiler Counter: ");
  EXPECT_THAT(lines, Contains(HasSubstr("name = gpu_clock_event_reasons, ")));
  EXPECT_THAT(lines, Contains(HasSubstr(", value = 68"))) << "the mask 0x44";
  EXPECT_THAT(lines, Contains(HasSubstr("name = gpu_sm_clock, ")));
}

}  // namespace
}  // namespace pipetrace
