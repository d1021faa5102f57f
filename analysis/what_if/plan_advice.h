#pragma once

#include <string>
#include <vector>

#include "analysis/what_if/advice.h"
#include "analysis/what_if/run_model.h"

namespace pipetrace {

/// Says what other plans of a run's jobs would gain, by simulations with the run's medians.
class PlanAdvisor {
 public:
  /// The step of the run, and the time after it that counts with it and that no plan changes.
  struct Measured {
    Nanoseconds step = 0;
    Nanoseconds pause = 0;

    Nanoseconds all() const { return step + pause; }
    double share() const { return static_cast<double>(step) / static_cast<double>(all()); }
  };

  /// The model must outlive it, and have no reason() against it. `logs` and `blockOptions` are
  /// those of AdviceQuestion.
  PlanAdvisor(const RunModel& model, const Measured& measured, int threads, std::string logs,
              std::string blockOptions, AdviceProgress* progress = nullptr);

  /// The step of the run as it was, simulated.
  Nanoseconds step() const { return own_.step; }
  /// The most activations of a rank, in whole shares.
  double peak() const { return own_.peak; }

  /// - Every schedule that trains with a flush, with 1 to kMostChunks virtual stages a rank. `auto`
  ///   is given the limit. Its plans have kMostAutoJobs jobs at most, and `notes` says so.
  /// - Twice, four times and half as many micro-batches, the batch kept.
  /// - Messages in the order of their times, where the run has lines.
  /// - Deeper warm-ups, where the run follows 1F1B with one stage a rank: by rank, the best that a
  ///   search finds. It begins with 1F1B's and with Eager1F1B's depths, and makes one rank's deeper
  ///   by one as long as that makes the step shorter.
  /// - Where the model's blocks are known, the partition with the shortest step: what
  ///   bestPartition() finds, and as long as moving a block makes the step shorter, that. The
  ///   shortest schedule has a note on the best partition under it, by moving blocks alone.
  ///
  /// Where messages of the run wait for no others, the shortest schedules have a note on how long
  /// their steps are with the messages of a rank in torch's order. It names the schedule of torch
  /// that is shorter in that order.
  ///
  /// A predicted step is the measured one times what the change brings in simulation, so that it
  /// fits the gain.
  ///
  /// All simulations together have about `mostJobs` jobs (0: any number). Searches for a partition
  /// and for warm-ups do not count.
  ///
  /// Plans that need more than `limit` activations on a rank are left out, and `notes` gets a
  /// sentence for those that would have been shorter. `error` is that of the model.
  std::vector<Advice> advice(double limit, double error, std::vector<std::string>& notes,
                             std::int64_t mostJobs = 0);

  /// The schedules that advice() left out as they need more than the limit, the shortest first.
  const std::vector<Advice>& schedulesOverLimit() const { return overLimit_; }

  /// How many plans that can run advice() has simulated.
  int tried() const { return tried_; }

  static constexpr int kMostChunks = 4;
  static constexpr std::int64_t kMostAutoJobs = 60'000;

 private:
  struct Simulated {
    Nanoseconds step = 0;  // of as many samples as the run's
    double peak = 0;
    int messages = 0;
    bool runs = false;
  };
  struct Try {
    PlanChanges changes;
    Advice advice;
    Simulated simulated;
    double offByMessages = 0;
  };
  struct Partitioned {
    std::vector<int> blocks;  // of each stage
    Simulated plan;
  };

  Simulated simulated(const PlanChanges& changes) const;
  double gainOf(const Simulated& plan) const;
  double offByMessages(const Try& one) const;
  Nanoseconds predicted(const Simulated& plan) const;
  bool isWithin(const Simulated& plan, double limit) const;
  void addCommandOfPlanFile(Advice& advice) const;
  /// Whether the run does not show if messages wait for each other, so that both are asked.
  bool asksInLine() const { return model_.lines() == CommStreams::kAsReached; }
  void addStepsInLine(double limit, std::vector<Try>& tries) const;
  std::vector<Try> schedules(double limit, std::vector<std::string>& notes) const;
  std::int64_t jobsOfTry(const Try& one) const;
  void leaveLargeOnes(std::int64_t mostJobs, std::vector<Try>& tries,
                      std::vector<std::string>& notes) const;
  std::vector<Try> microBatches() const;
  std::vector<Try> messageOrders() const;
  std::vector<Try> messageLines() const;
  std::vector<Try> partitions(double limit) const;
  Partitioned improved(const std::vector<std::vector<int>>& begins, const PlanChanges& changes,
                       double limit) const;
  std::vector<int> searchedPartition(double limit) const;
  void addPartitionOfBest(double limit, std::vector<Try>& tries) const;
  std::vector<Try> warmUps(double limit) const;
  std::vector<int> deepened(std::vector<int> depths, double limit) const;

  const RunModel& model_;
  Measured measured_;
  int threads_;
  std::string logs_;
  std::string blockOptions_;
  AdviceProgress* progress_;
  int chunks_ = 1;  // of the run
  Simulated own_;
  std::vector<Advice> overLimit_;
  int tried_ = 0;
};

}  // namespace pipetrace
