#include "samples/task_optimizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "runtime/train/optimize/learning_rate.h"
#include "trace/error.h"

namespace pipetrace {

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

std::function<double(int step)> learningRateOf(const OptimizerOptions& options) {
  const RateSchedule schedule{.shape = rateShapeOf(options.schedule),
                              .warmup = options.warmup,
                              .finalShare = options.finalShare};
  return [schedule, top = options.learningRate, steps = options.steps](int step) {
    return top * rateShare(schedule, step, steps);
  };
}

std::string toText(const OptimizerOptions& options) {
  return fmt::format(
      "learning rate {}, {}, warm-up of {} steps, end at {}, weight decay {}, none for [{}]",
      options.learningRate, options.schedule, options.warmup, options.finalShare,
      options.weightDecay, fmt::join(options.noDecay, ", "));
}

}  // namespace pipetrace
