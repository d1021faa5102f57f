#include "runtime/engine/engine_main.h"
#include "samples/config/config_command_line.h"
#include "samples/gpipe_mlp/mlp_task.h"
#include "samples/run_sample.h"
#include "samples/sample_command_line.h"
#include "schedule/builders/schedules.h"

int main(int argc, char** argv) {
  pipetrace::SampleOptions options{
      .plan = {.schedule = std::string(pipetrace::schedules::kGPipe.name)}, .steps = 200};
  CLI::App app(
      "The GPipe exercise: an MLP 10-20-30-20-5 in 4 pipeline stages, 16 examples in 8 "
      "micro-batches");
  pipetrace::addPipelineOptions(app, options);
  pipetrace::OptimizerOptions optimizer = pipetrace::mlpOptimizer();
  pipetrace::addOptimizerOptions(app, optimizer);
  if (const auto code = pipetrace::parseWithConfig(app, argc, argv, options)) return *code;
  optimizer.steps = options.steps;
  return pipetrace::engineMain([&](pipetrace::StopSignal& stop) {
    pipetrace::runSample(options, pipetrace::mlpTaskMaker(optimizer), stop);
  });
}
