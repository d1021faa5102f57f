#include "samples/char_transformer/char_task.h"

#include <fmt/format.h>
#include <torch/optim/adamw.h>

#include <algorithm>

#include "samples/char_transformer/char_model.h"
#include "samples/char_transformer/char_text.h"
#include "samples/sample_task.h"

namespace pipetrace {

SampleTask makeCharTask(const CharTaskOptions& options) {
  const CharText text(options.data);
  const std::int64_t context = options.model.context;
  text.windows(options.seed, 0, 1, context);  // says now if the text is too short
  CharModelOptions model = options.model;
  model.vocabulary = text.vocabulary();
  SampleTask task;
  task.model = makeCharModel(model);
  task.sizes = fmt::format("vocabulary {}, context {}, width {}, heads {}, {} layers",
                           model.vocabulary, model.context, model.width, model.heads, model.layers);
  task.batch = [text, options, context](int step, int replica) {
    const auto ofReplica = static_cast<std::uint64_t>(replica) << 32;  // replica 0: the seed's own
    return text.windows(options.seed + ofReplica, step, options.rows, context);
  };
  task.optimizer = [rate = options.learningRate](std::vector<at::Tensor> parameters) {
    return std::make_unique<torch::optim::AdamW>(std::move(parameters),
                                                 torch::optim::AdamWOptions(rate));
  };
  task.learningRate = [options](int step) {
    const double share = static_cast<double>(step + 1) / std::max(options.warmUpSteps, 1);
    return options.learningRate * std::min(share, 1.0);
  };
  return task;
}

std::function<SampleTask()> charTaskMaker(const CharTaskOptions& options) {
  return [options] { return makeCharTask(options); };
}

}  // namespace pipetrace
