#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "runtime/stage_work.h"

namespace pipetrace {

/// Does what another work does. Derived classes override what they watch or change. A fused pair
/// runs as its two parts here, so that they see both.
class ForwardingWork : public StageWork {
 public:
  /// `inner` must outlive it.
  explicit ForwardingWork(StageWork& inner) : inner_(inner) {}

  void accept(const Plan& plan, int rank) override { inner_.accept(plan, rank); }
  TensorRoutes routes(const Plan& plan) const override { return inner_.routes(plan); }
  std::vector<std::vector<int>> ties() const override { return inner_.ties(); }
  void beginStep(int step) override { inner_.beginStep(step); }
  bool hasData() const override { return inner_.hasData(); }
  void awaitData(int step) override { inner_.awaitData(step); }
  std::int64_t rows() const override { return inner_.rows(); }
  void lr(int step) override { inner_.lr(step); }
  void runForward(int stage, int microBatch, JobMessages messages) override {
    inner_.runForward(stage, microBatch, messages);
  }
  void runBackward(int stage, int microBatch, JobMessages messages) override {
    inner_.runBackward(stage, microBatch, messages);
  }
  void runBackwardInput(int stage, int microBatch, JobMessages messages) override {
    inner_.runBackwardInput(stage, microBatch, messages);
  }
  void backwardWeight(int stage, int microBatch) override {
    inner_.backwardWeight(stage, microBatch);
  }
  void runPart(const Action& part, JobMessages messages) override {
    inner_.runPart(part, messages);
  }
  void recompute(int stage, int microBatch) override { inner_.recompute(stage, microBatch); }
  void optimizerStep() override { inner_.optimizerStep(); }
  void update(int stage) override { inner_.update(stage); }
  GradientBuckets* buckets() override { return inner_.buckets(); }
  Message tiedSumOf(int tie, int use) override { return inner_.tiedSumOf(tie, use); }
  void takeTiedSum(int tie, int use, Message sum) override {
    inner_.takeTiedSum(tie, use, std::move(sum));
  }
  void addTiedSums() override { inner_.addTiedSums(); }
  bool agrees() const override { return inner_.agrees(); }
  std::vector<std::vector<double>> scalarAllReduceTerms(const std::vector<int>& stages) override {
    return inner_.scalarAllReduceTerms(stages);
  }
  void takeScalarSum(double sum) override { inner_.takeScalarSum(sum); }
  std::vector<std::pair<const char*, double>> counters() const override {
    return inner_.counters();
  }
  std::int32_t versionOf(const Action& action) const override { return inner_.versionOf(action); }
  std::optional<double> loss() const override { return inner_.loss(); }
  bool hasMetrics() const override { return inner_.hasMetrics(); }
  std::vector<double> sharesOfStep() const override { return inner_.sharesOfStep(); }
  void takeSums(const std::vector<double>& ofAll) override { inner_.takeSums(ofAll); }
  void launching(const Action& action, Nanoseconds arrival) override {
    inner_.launching(action, arrival);
  }
  void abandon() override { inner_.abandon(); }
  bool runsBehind() const override { return inner_.runsBehind(); }
  void awaitJob() override { inner_.awaitJob(); }
  RankDevice* device() override { return inner_.device(); }
  PlannedTransfers* plannedTransfers() override { return inner_.plannedTransfers(); }

 private:
  StageWork& inner_;
};

}  // namespace pipetrace
