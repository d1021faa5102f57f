#include "runtime/engine/engine.h"

#include <gmock/gmock.h>

#include "runtime/testing/error_of.h"

namespace pipetrace {
namespace {

using testing::errorOf;
using ::testing::HasSubstr;

Metric metricOf(const std::string& name) {
  return {.name = name, .value = [](const Tensors& inputs) { return inputs[0].sum(); }};
}

TEST(CheckOptions, FieldsThatMeanNothingAreNamed) {
  const auto ofFit = [](const FitOptions& options) {
    return errorOf([&] { requireMeaning(options); });
  };
  EXPECT_EQ(ofFit({}), "");
  EXPECT_EQ(ofFit({.epochs = 0}), "FitOptions::epochs is 0, and must be at least 1");
  EXPECT_THAT(ofFit({.stepsPerEpoch = -1}), HasSubstr("stepsPerEpoch is -1"));
  EXPECT_THAT(ofFit({.validFreq = 0}), HasSubstr("validFreq is 0"));
  EXPECT_THAT(ofFit({.validSteps = -2}), HasSubstr("validSteps is -2"));
  EXPECT_THAT(ofFit({.logFreq = -1}), HasSubstr("logFreq is -1"));
  const auto call = [](const StepReport&) { return true; };
  EXPECT_THAT(ofFit({.callbacks = {{.everySteps = 0, .call = call}}}),
              HasSubstr("FitCallback::everySteps is 0"));
  EXPECT_THAT(ofFit({.callbacks = {{}}}), HasSubstr("a callback has no function"));

  const auto ofEngine = [](const EngineOptions& options) {
    return errorOf([&] { requireMeaning(options); });
  };
  EXPECT_EQ(ofEngine({}), "");
  EXPECT_THAT(ofEngine({.stepTimeout = -1}), HasSubstr("EngineOptions::stepTimeout is -1"));
  EXPECT_THAT(ofEngine({.connectTimeout = 0}), HasSubstr("connectTimeout is 0"));
  EXPECT_THAT(ofEngine({.inspectEvery = -1}), HasSubstr("inspectEvery is -1"));
  EXPECT_THAT(ofEngine({.checkpoints = {.folder = "c", .keep = 0}}),
              HasSubstr("CheckpointOptions::keep is 0"));
  EXPECT_THAT(ofEngine({.checkpoints = {.folder = "c", .everySteps = -1}}),
              HasSubstr("everySteps is -1"));
  EXPECT_THAT(ofEngine({.checkpoints = {.folder = "c", .exitAfterMinutes = -0.5}}),
              HasSubstr("exitAfterMinutes is -0.5"));
}

TEST(CheckOptions, EachMetricHasANameOfItsOwn) {
  EXPECT_NO_THROW(requireNames({metricOf("accuracy"), metricOf("perplexity")}));
  EXPECT_EQ(errorOf([] {
              requireNames({metricOf("accuracy"), metricOf("accuracy")});
            }),
            "two metrics are called accuracy");
  EXPECT_THAT(errorOf([] { requireNames({metricOf("loss")}); }), HasSubstr("as the loss is"));
  EXPECT_THAT(errorOf([] { requireNames({metricOf("")}); }), HasSubstr("no name"));
  EXPECT_THAT(errorOf([] { requireNames({{.name = "accuracy"}}); }), HasSubstr("no function"));
}

}  // namespace
}  // namespace pipetrace
