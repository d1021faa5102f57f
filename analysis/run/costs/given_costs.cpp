#include "analysis/run/costs/given_costs.h"

#include <algorithm>
#include <optional>
#include <string>

#include "trace/error.h"

namespace pipetrace {
namespace {

class Completion {
 public:
  Completion(const GivenCosts& given, int numStages) : given_(given), numStages_(numStages) {}

  Costs run() const {
    checkTogether();
    Costs costs{.transfer = given_.transfer,
                .lr = given_.lr,
                .optimizer = given_.optimizer,
                .scalarAllReduce = given_.scalarAllReduce,
                .bandwidth = given_.bandwidth};
    for (int stage = 0; stage < numStages_; ++stage) costs.stages.push_back(stageCosts(stage));
    for (const GivenCosts::JobTime& job : given_.jobs) addJob(costs, job);
    costs.faults.links = given_.links;
    return costs;
  }

 private:
  void addJob(Costs& costs, const GivenCosts::JobTime& job) const {
    const Action& action = job.action;
    if (std::max(action.stage, action.backwardStage) >= numStages_) {
      throw Error("there is a time for " + toText(action) + ", but the schedule has " +
                  std::to_string(numStages_) + " stages");
    }
    costs.faults.jobs.push_back({.action = action, .longer = job.time - costs.timeOf(action)});
  }

  void checkTogether() const {
    if (!given_.weights.empty() && given_.activation.empty()) {
      throw Error("memory of weights is given, but not of activations; give both");
    }
    if (!given_.freedByInput.empty() && given_.activation.empty()) {
      throw Error(
          "the memory that the input half frees is given, but not the activation it is part of");
    }
    if (!given_.recomputed.empty() && given_.activation.empty()) {
      throw Error("the memory that is recomputed is given, but not the activation it is part of");
    }
    if (!given_.working.empty() && given_.activation.empty()) {
      throw Error("the working memory of jobs is given, but not of activations; give both");
    }
    if (given_.bandwidth > 0 && given_.message.empty()) {
      throw Error("a bandwidth is given, but not the bytes of messages; give both");
    }
    if (given_.bandwidth <= 0) return;
    // Sums over a large plan must fit int64.
    constexpr double kLongest = static_cast<double>(kNsMax / 1'000'000);
    for (const std::int64_t bytes : given_.message) {
      if (static_cast<double>(bytes) / given_.bandwidth * 1e9 <= kLongest) continue;
      throw Error("a message of " + std::to_string(bytes) +
                  " bytes takes hours at that bandwidth; a bandwidth is in 10^9 bytes a second");
    }
  }

  std::optional<std::int64_t> of(const GivenCosts::Values& values, const char* what,
                                 int stage) const {
    if (values.empty()) return std::nullopt;
    if (values.size() == 1) return values.front();
    if (values.size() != static_cast<std::size_t>(numStages_)) {
      throw Error("costs for " + std::to_string(values.size()) + " stages (" + what +
                  "), but the schedule has " + std::to_string(numStages_) +
                  "; give one value per virtual stage, or one for all");
    }
    return values[static_cast<std::size_t>(stage)];
  }

  StageCosts stageCosts(int stage) const {
    StageCosts costs;
    costs.forward = of(given_.forward, "forward", stage).value_or(kNsPerMs);
    addBackward(costs, stage);
    costs.forwardBackward = of(given_.forwardBackward, "forward_backward", stage).value_or(-1);
    costs.recompute = of(given_.recompute, "recompute", stage).value_or(0);
    costs.reduction = of(given_.reduction, "reduce", stage).value_or(0);
    costs.activation = of(given_.activation, "activation", stage).value_or(1);
    costs.freedByInput = of(given_.freedByInput, "freed_by_input", stage).value_or(0);
    costs.recomputed = of(given_.recomputed, "recomputed", stage).value_or(0);
    costs.working = of(given_.working, "working", stage).value_or(0);
    costs.weights = of(given_.weights, "weights", stage).value_or(0);
    costs.message = of(given_.message, "message", stage).value_or(0);
    costs.blocks = of(given_.blocks, "blocks", stage).value_or(0);
    if (costs.freedByInput > costs.activation) {
      throw Error("stage " + std::to_string(stage) +
                  ": the input half frees more memory than the forward takes");
    }
    if (costs.recomputed > costs.activation) {
      throw Error("stage " + std::to_string(stage) +
                  ": more memory is recomputed than the forward takes");
    }
    return costs;
  }

  void addBackward(StageCosts& costs, int stage) const {
    const auto whole = of(given_.backward, "backward", stage);
    const auto input = of(given_.backwardInput, "backward_input", stage);
    const auto weight = of(given_.backwardWeight, "backward_weight", stage);
    costs.backward = whole ? *whole : input && weight ? *input + *weight : 2 * costs.forward;
    costs.backwardInput = input ? *input : weight ? costs.backward - *weight : costs.backward / 2;
    costs.backwardWeight = weight ? *weight : costs.backward - costs.backwardInput;
    if (std::min(costs.backwardInput, costs.backwardWeight) < 0) {
      throw Error("stage " + std::to_string(stage) +
                  ": one half of the backward is longer than the whole; give the whole, or both "
                  "halves");
    }
  }

  const GivenCosts& given_;
  int numStages_;
};

/// The values of all stages; a single value where all are the same.
GivenCosts::Values shared(const Costs& costs, std::int64_t StageCosts::*field) {
  GivenCosts::Values values;
  for (const StageCosts& stage : costs.stages) values.push_back(stage.*field);
  if (!values.empty() && std::count(values.begin(), values.end(), values.front()) ==
                             static_cast<std::ptrdiff_t>(values.size())) {
    values.erase(values.begin() + 1, values.end());
  }
  return values;
}

}  // namespace

Costs completeCosts(const GivenCosts& given, int numStages) {
  return Completion(given, numStages).run();
}

GivenCosts givenCosts(const Costs& costs) {
  GivenCosts given{.forward = shared(costs, &StageCosts::forward),
                   .backward = shared(costs, &StageCosts::backward),
                   .backwardInput = shared(costs, &StageCosts::backwardInput),
                   .backwardWeight = shared(costs, &StageCosts::backwardWeight),
                   .forwardBackward = shared(costs, &StageCosts::forwardBackward),
                   .recompute = shared(costs, &StageCosts::recompute),
                   .reduction = shared(costs, &StageCosts::reduction),
                   .activation = shared(costs, &StageCosts::activation),
                   .freedByInput = shared(costs, &StageCosts::freedByInput),
                   .recomputed = shared(costs, &StageCosts::recomputed),
                   .working = shared(costs, &StageCosts::working),
                   .weights = shared(costs, &StageCosts::weights),
                   .message = shared(costs, &StageCosts::message),
                   .blocks = shared(costs, &StageCosts::blocks),
                   .transfer = costs.transfer,
                   .lr = costs.lr,
                   .optimizer = costs.optimizer,
                   .scalarAllReduce = costs.scalarAllReduce,
                   .bandwidth = costs.bandwidth};
  const auto dropIfAll = [](GivenCosts::Values& values, std::int64_t value) {
    if (values == GivenCosts::Values{value}) values.clear();
  };
  dropIfAll(given.forwardBackward, -1);
  dropIfAll(given.recompute, 0);
  dropIfAll(given.reduction, 0);
  dropIfAll(given.freedByInput, 0);
  dropIfAll(given.recomputed, 0);
  dropIfAll(given.working, 0);
  dropIfAll(given.weights, 0);
  dropIfAll(given.message, 0);
  dropIfAll(given.blocks, 0);
  const bool isCounted = given.weights.empty() && given.freedByInput.empty() &&
                         given.recomputed.empty() && given.working.empty();
  if (isCounted) dropIfAll(given.activation, 1);
  return given;
}

}  // namespace pipetrace
