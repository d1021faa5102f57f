#pragma once

#include <memory>
#include <utility>

#include "analysis/causes/explanation.h"

namespace pipetrace {

struct RunOfExplanation {
  std::unique_ptr<Run> own;
};

/// An explanation with the run that it refers to.
struct ExplainedRun : RunOfExplanation, Explanation {
  ExplainedRun(Timeline timeline, const ExplainOptions& options, int threads)
      : RunOfExplanation{std::make_unique<Run>(std::move(timeline), threads)},
        Explanation(*own, options) {}
};

/// Explains a completed timeline.
inline ExplainedRun explainRun(Timeline timeline, const ExplainOptions& options, int threads = 1) {
  return {std::move(timeline), options, threads};
}

}  // namespace pipetrace
