#include "samples/char_transformer/char_task.h"

#include <fmt/format.h>

#include "samples/char_transformer/char_model.h"
#include "samples/char_transformer/char_text.h"
#include "samples/config/option_places.h"
#include "samples/optimizer/task_optimizer.h"
#include "samples/sample_task.h"

namespace pipetrace {

SampleTask makeCharTask(const CharTaskOptions& options) {
  const CharText text = aboutOption({"--data"}, [&] { return CharText(options.data); });
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
  task.rows = options.rows;
  task.itemName = "tokens";
  task.itemsPerRow = static_cast<double>(context);
  task.flopsPerRow = flopsOfRow(model);
  addOptimizer(task, options.optimizer);
  return task;
}

std::function<SampleTask()> charTaskMaker(const CharTaskOptions& options) {
  return [options] { return makeCharTask(options); };
}

}  // namespace pipetrace
