#include <cstdio>
#include <memory>
#include <utility>

#include "profiler/cpu_stream.h"
#include "profiler/cuda/device.h"
#include "profiler/cuda/runtime.h"
#include "profiler/cuda/stream.h"
#include "profiler/recorder.h"
#include "profiler/switches.h"

using namespace pipetrace;

int main() {
  const Switches switches = Switches::fromEnvironment();
  RecorderOptions options{.logDirectory = switches.logDirectory};
  options.isOn = switches.isOn;
  options.steps = switches.steps;
  Recorder recorder(options);
  const auto cuda = makeCudaRuntime();
  std::unique_ptr<DeviceStream> stream = std::make_unique<CpuStream>();
  CudaApi::Stream queue = nullptr;  // the cudaStream_t that the jobs go to
  if (recorder.isOn() && cuda->deviceCount() > 0) {
    stream = std::make_unique<CudaStream>(std::make_shared<CudaDevice>(cuda, 0), queue);
  } else if (recorder.isOn()) {
    std::fprintf(stderr, "no CUDA device, or no driver: the CPU is recorded\n");
  }
  const StreamId compute = recorder.addStream("compute", std::move(stream));
  for (int microBatch = 0; microBatch < 12; ++microBatch) {
    recorder.begin(compute, {.kind = JobKind::kForward, .microBatch = microBatch, .step = 0});
    // kernels are queued here
    recorder.end(compute);
  }
  recorder.counter("devices", cuda->deviceCount());
  recorder.close();
}
