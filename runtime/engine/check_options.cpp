#include "runtime/engine/check_options.h"

#include <cstdio>
#include <set>
#include <string>

#include "trace/error.h"

namespace pipetrace {
namespace {

void requireAtLeast(double least, double value, const char* field) {
  if (value >= least) return;
  char text[96];
  std::snprintf(text, sizeof text, "%s is %g, and must be at least %g", field, value, least);
  throw Error(text);
}

}  // namespace

void requireMeaning(const EngineOptions& options) {
  requireAtLeast(0, options.inspectEvery, "EngineOptions::inspectEvery");
  requireAtLeast(0, static_cast<double>(options.stepTimeout), "EngineOptions::stepTimeout");
  requireAtLeast(0, static_cast<double>(options.silence), "EngineOptions::silence");
  requireAtLeast(1, static_cast<double>(options.connectTimeout), "EngineOptions::connectTimeout");
  requireAtLeast(1, static_cast<double>(options.linkTimeout), "EngineOptions::linkTimeout");
  const CheckpointOptions& checkpoints = options.checkpoints;
  requireAtLeast(1, checkpoints.keep, "CheckpointOptions::keep");
  requireAtLeast(0, checkpoints.everySteps, "CheckpointOptions::everySteps");
  requireAtLeast(0, checkpoints.exitAfterMinutes, "CheckpointOptions::exitAfterMinutes");
  const bool wants = checkpoints.everySteps > 0 || checkpoints.resumes || checkpoints.onStop ||
                     checkpoints.exitAfterMinutes > 0;
  if (wants && checkpoints.folder.empty()) {
    throw Error("checkpoints need a folder (CheckpointOptions::folder)");
  }
}

void requireMeaning(const FitOptions& options) {
  requireAtLeast(1, options.epochs, "FitOptions::epochs");
  requireAtLeast(0, options.stepsPerEpoch, "FitOptions::stepsPerEpoch");
  requireAtLeast(1, options.validFreq, "FitOptions::validFreq");
  requireAtLeast(0, options.validSteps, "FitOptions::validSteps");
  requireAtLeast(0, options.logFreq, "FitOptions::logFreq");
  for (const FitCallback& callback : options.callbacks) {
    requireAtLeast(1, callback.everySteps, "FitCallback::everySteps");
    if (!callback.call) throw Error("a callback has no function (FitCallback::call)");
  }
}

void requireNames(const std::vector<Metric>& metrics) {
  std::set<std::string> names{"loss"};
  for (const Metric& metric : metrics) {
    if (metric.name.empty()) throw Error("a metric has no name");
    if (!metric.value) throw Error("the metric " + metric.name + " has no function");
    if (names.insert(metric.name).second) continue;
    throw Error(metric.name == "loss" ? "a metric cannot be called loss, as the loss is"
                                      : "two metrics are called " + metric.name);
  }
}

}  // namespace pipetrace
