#include <chrono>
#include <memory>
#include <thread>

#include "profiler/cpu_stream.h"
#include "profiler/recorder.h"
#include "profiler/switches.h"

using namespace pipetrace;

int main() {
  const Switches switches = Switches::fromEnvironment();  // PIPETRACE=1 records
  RecorderOptions options{.logDirectory = switches.logDirectory};
  options.isOn = switches.isOn;
  options.steps = switches.steps;
  options.info.worldSize = 1;
  Recorder recorder(options);
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  for (int step = 0; step < 3; ++step) {
    recorder.beginStep(step);
    for (const JobKind kind :
         {JobKind::kLr, JobKind::kForward, JobKind::kBackward, JobKind::kOptimizer}) {
      recorder.begin(compute, {.kind = kind, .stage = 0});
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the work
      recorder.end(compute);
    }
    recorder.counter("loss", 1.0 / (step + 1));
    recorder.endStep(step);
  }
  recorder.close();
}
