#include "samples/bert/bert_task.h"

#include <fmt/format.h>

#include "samples/bert/bert_model.h"
#include "samples/bert/masked_text.h"
#include "samples/bert/wordpiece/word_pieces.h"
#include "samples/config/option_places.h"
#include "samples/files/read_file.h"
#include "samples/optimizer/task_optimizer.h"
#include "samples/sample_task.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

WordPieces vocabularyOf(const BertTaskOptions& options) {
  if (options.vocabulary.empty()) return {usualVocabulary(), "the usual vocabulary"};
  return {readFile(options.vocabulary), options.vocabulary};
}

}  // namespace

SampleTask makeBertTask(const BertTaskOptions& options) {
  const BertConfig& config = options.config;
  const WordPieces vocabulary =
      aboutOption({"--vocabulary"}, [&] { return vocabularyOf(options); });
  if (vocabulary.size() > config.vocabulary) {
    throw OptionError(
        {"--vocabulary", "--bert-config"},
        fmt::format("the vocabulary has {} pieces, but the model only {} (\"vocab_size\")",
                    vocabulary.size(), config.vocabulary));
  }
  if (options.length > config.positions) {
    throw Error(
        fmt::format("rows of {} pieces are longer than the model's {} positions "
                    "(\"max_position_embeddings\"); give a shorter --length",
                    options.length, config.positions));
  }
  const MaskedText text(aboutOption({"--data"}, [&] { return readText(options.data); }),
                        options.data, vocabulary);
  text.rows(options.seed, 0, 1, options.length);  // says now if the text is too short
  SampleTask task;
  task.model = makeBertModel(config, options.isTied);
  task.sizes = fmt::format("{}, rows of {} pieces, {}", toText(config), options.length,
                           options.isTied ? "tied" : "untied");
  task.batch = [text, options](int step, int replica) {
    const auto ofReplica = static_cast<std::uint64_t>(replica) << 32;  // replica 0: the seed's own
    return text.rows(options.seed + ofReplica, step, options.rows, options.length);
  };
  task.rows = options.rows;
  task.itemName = "tokens";
  task.itemsPerRow = static_cast<double>(options.length);
  task.flopsPerRow = flopsOfBertRow(config, options.length);
  addOptimizer(task, options.optimizer);
  return task;
}

std::function<SampleTask()> bertTaskMaker(const BertTaskOptions& options) {
  return [options] { return makeBertTask(options); };
}

}  // namespace pipetrace
