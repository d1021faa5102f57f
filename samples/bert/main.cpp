#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>

#include "runtime/engine/engine_main.h"
#include "samples/bert/bert_task.h"
#include "samples/config/config_command_line.h"
#include "samples/run_sample.h"
#include "samples/sample_command_line.h"

namespace {

constexpr std::int64_t kMost = 1 << 20;

}  // namespace

int main(int argc, char** argv) {
  pipetrace::SampleOptions options{.steps = 200};
  pipetrace::BertTaskOptions task;
  std::string config = "small";
  bool isUntied = false;
  CLI::App app("BERT as a masked language model, trained on a text in pipeline stages");
  pipetrace::addPipelineOptions(app, options);
  app.add_option("--data", task.data, "the text to learn, UTF-8");
  app.add_option("--bert-config", config,
                 fmt::format("the sizes of the model: {}, or a file such as BERT's "
                             "bert_config.json",
                             fmt::join(pipetrace::bertConfigNames(), ", ")))
      ->option_text("NAME|FILE [small]");
  app.add_option("--vocabulary", task.vocabulary,
                 "the pieces of words, one a line, as BERT's vocab.txt (default: 4096 of English "
                 "licences)")
      ->option_text("FILE")
      ->default_str("");
  app.add_option("--length", task.length, "pieces of words in a row, special ones included")
      ->check(pipetrace::numberFrom(std::int64_t{1}, kMost));
  app.add_option("--batch", task.rows, "rows per step")
      ->check(pipetrace::numberFrom(std::int64_t{1}, kMost));
  app.add_flag("--untied", isUntied,
               "the head has weights of its own, not those of the embedding; plans without a "
               "flush always train so");
  pipetrace::addPeakFlops(app, options);
  pipetrace::addOptimizerOptions(app, task.optimizer);
  if (const auto code = pipetrace::parseWithConfig(app, argc, argv, options)) return *code;
  task.isTied = !isUntied;
  task.seed = options.seed;
  task.optimizer.steps = options.steps;
  return pipetrace::engineMain([&](pipetrace::StopSignal& stop) {
    task.config = pipetrace::withPlaces(options.places, [&] {
      return pipetrace::aboutOption({"--bert-config"},
                                    [&] { return pipetrace::bertConfigOf(config); });
    });
    pipetrace::runSample(options, pipetrace::bertTaskMaker(task), stop);
  });
}
