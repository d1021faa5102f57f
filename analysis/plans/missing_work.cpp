#include "analysis/plans/missing_work.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/plans/measured_plan.h"

namespace pipetrace {
namespace {

/// How often the passes of a stage and a micro-batch are there.
struct PassCounts {
  int forward = 0;
  int whole = 0;
  int input = 0;
  int weight = 0;

  int backward() const { return whole + input; }
};

class WorkCheck {
 public:
  explicit WorkCheck(const MeasuredPlan& measured)
      : measured_(measured), plan_(measured.plan), isForwardOnly_(plan_.isForwardOnly()) {}

  std::string run() {
    std::size_t actions = 0;
    for (const auto& row : plan_.ranks) actions += row.size();
    const auto places =
        static_cast<std::size_t>(plan_.numStages) * static_cast<std::size_t>(plan_.numMicroBatches);
    if (places / 4 > actions) {
      return plan_.name + " lacks most of its work: " + std::to_string(plan_.numMicroBatches) +
             " micro-batches on " + std::to_string(plan_.numStages) + " stages have only " +
             std::to_string(actions) + " jobs";
    }
    passes_.resize(places);
    for (int rank = 0; rank < plan_.numRanks(); ++rank) {
      for (const Action& action : plan_.ranks[static_cast<std::size_t>(rank)]) add(rank, action);
    }
    for (int stage = 0; stage < plan_.numStages; ++stage) {
      for (int m = 0; m < plan_.numMicroBatches; ++m) findMissing(stage, m);
    }
    if (!missing_.empty()) return plan_.name + " lacks " + missing_ + othersText(missingCount_);
    if (!early_.empty()) {
      return plan_.name + " has " + early_ + othersText(earlyCount_) +
             "; its steps run into each other";
    }
    if (!twice_.empty()) return plan_.name + " has " + twice_ + " twice" + othersText(twiceCount_);
    return "";
  }

 private:
  static std::string othersText(std::int64_t count) {
    if (count < 2) return "";
    return ", and " + std::to_string(count - 1) + " more";
  }

  PassCounts& at(int stage, int microBatch) {
    return passes_[static_cast<std::size_t>(stage) *
                       static_cast<std::size_t>(plan_.numMicroBatches) +
                   static_cast<std::size_t>(microBatch)];
  }

  std::string textOf(const char* pass, int stage, int microBatch) const {
    const auto number = measured_.microBatchNumbers[static_cast<std::size_t>(microBatch)];
    return "the " + std::string(pass) + " of micro-batch " + std::to_string(number) + " on stage " +
           std::to_string(stage);
  }

  static void note(const std::string& what, std::string& first, std::int64_t& count) {
    if (count++ == 0) first = what;
  }

  void count(int& passes, const char* pass, int stage, int microBatch) {
    if (++passes == 2) note(textOf(pass, stage, microBatch), twice_, twiceCount_);
  }

  void add(int rank, const Action& action) {
    PassCounts& passes = at(action.stage, action.microBatch);
    switch (action.kind) {
      case JobKind::kForward:
        count(passes.forward, "forward pass", action.stage, action.microBatch);
        break;
      case JobKind::kBackward: addBackward(rank, action.stage, action.microBatch); break;
      case JobKind::kBackwardInput:
        count(passes.input, "input half", action.stage, action.microBatch);
        checkOrder(rank, action.stage, action.microBatch);
        break;
      case JobKind::kBackwardWeight:
        count(passes.weight, "weight half", action.stage, action.microBatch);
        break;
      default:
        count(passes.forward, "forward pass", action.stage, action.microBatch);
        addBackward(rank, action.backwardStage, action.backwardMicroBatch);
    }
  }

  void addBackward(int rank, int stage, int microBatch) {
    count(at(stage, microBatch).whole, "backward pass", stage, microBatch);
    checkOrder(rank, stage, microBatch);
  }

  void checkOrder(int rank, int stage, int microBatch) {
    if (at(stage, microBatch).forward > 0) return;
    note(textOf("backward pass", stage, microBatch) + " before the forward pass on rank " +
             std::to_string(measured_.rankNumbers[static_cast<std::size_t>(rank)]),
         early_, earlyCount_);
  }

  void findMissing(int stage, int microBatch) {
    // Where a stage is on several ranks, another one may have a log.
    const int rank = plan_.rankOf(stage, microBatch);
    if (rank < 0 || measured_.rankNumbers[static_cast<std::size_t>(rank)] < 0) return;
    const PassCounts& passes = at(stage, microBatch);
    const auto lacks = [&](const char* pass) {
      note(textOf(pass, stage, microBatch), missing_, missingCount_);
    };
    if (passes.forward == 0) lacks("forward pass");
    if (passes.input > passes.weight) lacks("weight half");
    // The first stage has no gradient to send on, and may have no input half.
    const bool isWeightHalfEnough = stage == 0 && passes.weight > 0;
    if (passes.backward() > 0 || isWeightHalfEnough || isForwardOnly_) return;
    lacks("backward pass");
  }

  const MeasuredPlan& measured_;
  const Plan& plan_;
  bool isForwardOnly_;
  std::vector<PassCounts> passes_;
  // The first of each, and how many there are.
  std::string missing_;
  std::string early_;
  std::string twice_;
  std::int64_t missingCount_ = 0;
  std::int64_t earlyCount_ = 0;
  std::int64_t twiceCount_ = 0;
};

}  // namespace

std::string missingWork(const MeasuredPlan& measured) { return WorkCheck(measured).run(); }

}  // namespace pipetrace
