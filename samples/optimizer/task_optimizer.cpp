#include "samples/optimizer/task_optimizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "runtime/train/optimize/lamb.h"
#include "runtime/train/optimize/learning_rate.h"
#include "runtime/train/stage.h"
#include "samples/sample_task.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

template <typename Optimizer, typename Options>
OptimizerMaker makerOf(const Options& usual, const WeightDecay& decay) {
  return [usual, decay](const NamedParameters& parameters) {
    return std::make_unique<Optimizer>(decayGroups(parameters, usual, decay), usual);
  };
}

}  // namespace

WeightDecay weightDecayOf(const OptimizerOptions& options) {
  std::vector<std::shared_ptr<const re2::RE2>> patterns;
  for (const std::string& text : options.noDecay) {
    const auto pattern = std::make_shared<const re2::RE2>(text, re2::RE2::Quiet);
    if (!pattern->ok()) {
      throw Error(fmt::format("--no-decay {}: {}; see RE2's syntax of regular expressions", text,
                              pattern->error()));
    }
    patterns.push_back(pattern);
  }
  return {.rate = options.weightDecay, .spares = [patterns](const std::string& name) {
            return std::any_of(patterns.begin(), patterns.end(), [&](const auto& pattern) {
              return re2::RE2::PartialMatch(name, *pattern);
            });
          }};
}

void requireNames(const Model& model, const OptimizerOptions& options) {
  if (options.noDecay.empty()) return;
  std::vector<std::string> names;
  for (std::size_t block = 0; block < model.blocks.size(); ++block) {
    const auto number = static_cast<int>(block);
    for (const auto& parameter : makeBlock(model, number, 0)->named_parameters()) {
      names.push_back(std::to_string(block) + "." + parameter.key());
    }
  }
  for (const std::string& text : options.noDecay) {
    const re2::RE2 pattern(text, re2::RE2::Quiet);
    const bool isNamed = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return re2::RE2::PartialMatch(name, pattern);
    });
    if (isNamed) continue;
    constexpr std::size_t kShown = 6;
    const std::size_t shown = std::min(names.size(), kShown);
    std::vector<std::string> examples(names.begin(),
                                      names.begin() + static_cast<std::ptrdiff_t>(shown));
    if (shown < names.size()) examples.push_back(fmt::format("{} more", names.size() - shown));
    throw Error(fmt::format("--no-decay {}: no parameter has such a name; there are {}", text,
                            fmt::join(examples, ", ")));
  }
}

std::function<double(int step)> learningRateOf(const OptimizerOptions& options) {
  const RateSchedule schedule{.shape = rateShapeOf(options.schedule),
                              .warmup = options.warmup,
                              .finalShare = options.finalShare};
  return [schedule, top = options.learningRate, steps = options.steps](int step) {
    return top * rateShare(schedule, step, steps);
  };
}

OptimizerMaker optimizerOf(const OptimizerOptions& options) {
  const WeightDecay decay = weightDecayOf(options);
  const double rate = options.learningRate;
  if (options.kind == "adamw") {
    return makerOf<torch::optim::AdamW>(torch::optim::AdamWOptions(rate), decay);
  }
  if (options.kind == "sgd") {
    return makerOf<torch::optim::SGD>(torch::optim::SGDOptions(rate), decay);
  }
  if (options.kind == "lamb") return makerOf<Lamb>(LambOptions(rate), decay);
  throw Error("there is no optimizer " + options.kind + "; there are adamw, lamb and sgd");
}

std::string toText(const OptimizerOptions& options) {
  return fmt::format(
      "{}, learning rate {}, {}, warm-up of {} steps, end at {}, weight decay {}, none for [{}]",
      options.kind, options.learningRate, options.schedule, options.warmup, options.finalShare,
      options.weightDecay, fmt::join(options.noDecay, ", "));
}

void addOptimizer(SampleTask& task, const OptimizerOptions& options) {
  task.optimizer = optimizerOf(options);
  requireNames(task.model, options);
  task.learningRate = learningRateOf(options);
  task.optimizerText = toText(options);
}

}  // namespace pipetrace
