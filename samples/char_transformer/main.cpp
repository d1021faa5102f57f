#include <cstdint>

#include "runtime/engine/engine_main.h"
#include "samples/char_transformer/char_task.h"
#include "samples/config/config_command_line.h"
#include "samples/run_sample.h"
#include "samples/sample_command_line.h"

namespace {

constexpr std::int64_t kWidest = 16'384;
constexpr std::int64_t kMost = 1 << 20;

}  // namespace

int main(int argc, char** argv) {
  pipetrace::SampleOptions options{.steps = 200};
  pipetrace::CharTaskOptions task;
  CLI::App app("A small character-level transformer, trained on a text in pipeline stages");
  pipetrace::addPipelineOptions(app, options);
  app.add_option("--data", task.data, "the text to learn");
  app.add_option("--layers", task.model.layers, "decoder layers, at least one per stage")
      ->check(pipetrace::numberFrom(1, 1024));
  app.add_option("--width", task.model.width, "of the layers")
      ->check(pipetrace::numberFrom(std::int64_t{1}, kWidest));
  app.add_option("--heads", task.model.heads, "of the attention")
      ->check(pipetrace::numberFrom(std::int64_t{1}, kWidest));
  app.add_option("--context", task.model.context, "characters in a window of text")
      ->check(pipetrace::numberFrom(std::int64_t{1}, kMost));
  app.add_option("--batch", task.rows, "windows of text per step")
      ->check(pipetrace::numberFrom(std::int64_t{1}, kMost));
  pipetrace::addPeakFlops(app, options);
  pipetrace::addOptimizerOptions(app, task.optimizer);
  if (const auto code = pipetrace::parseWithConfig(app, argc, argv, options)) return *code;
  task.seed = options.seed;
  task.optimizer.steps = options.steps;
  return pipetrace::engineMain([&](pipetrace::StopSignal& stop) {
    pipetrace::runSample(options, pipetrace::charTaskMaker(task), stop);
  });
}
