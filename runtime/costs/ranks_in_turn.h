#pragma once

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/program/tensor_routes.h"
#include "runtime/stage_work.h"
#include "runtime/train/torch_work.h"
#include "schedule/action.h"

namespace pipetrace {

/// The bytes that LibTorch's allocators hold of what this thread has allocated since it was made.
/// Tensors that other threads make or free meanwhile do not count.
///
/// Threads: the one that makes it.
class CountedBytes {
 public:
  CountedBytes() = default;

  std::int64_t now() const { return counter_->now; }
  /// The most since forgetMost().
  std::int64_t most() const { return counter_->most; }
  void forgetMost() { counter_->most = counter_->now; }

 private:
  struct Counter : c10::MemoryReportingInfoBase {
    void reportMemoryUsage(void*, std::int64_t size, std::size_t, std::size_t,
                           c10::Device) override {
      now += size;
      most = std::max(most, now);
    }
    bool memoryProfilingEnabled() const override { return true; }

    std::int64_t now = 0;
    std::int64_t most = 0;
  };

  const std::shared_ptr<Counter> counter_ = std::make_shared<Counter>();
  const c10::DebugInfoGuard counting_{c10::DebugInfoKind::PROFILER_STATE, counter_};
};

/// The ranks of a pipeline on this thread, which run their jobs in turn. So every allocation is
/// known to be of the job that runs. There is no transport: messages are handed on as copies, which
/// are no rank's until a job takes them.
///
/// A rank holds the bytes that its jobs have allocated and not freed, and the messages that they
/// took. So a tensor that is both an output and saved by autograd counts for both neighbours. The
/// weights, their gradients and the batch are there before the first job, and do not count.
///
/// Threads: the one that makes it.
class RanksInTurn {
 public:
  /// Makes the stages of each rank, and the first step's `batch`. A rank's options are `options`,
  /// of which it needs the model, the partition, the micro-batches, the optimizer, the seed and
  /// the precision.
  RanksInTurn(const TorchWorkOptions& options, const std::vector<std::vector<int>>& stagesByRank,
              const Batch& batch);

  /// Whether the messages that the action needs are there.
  bool canRun(const Action& action) const;
  /// Runs a job of the plan: a forward, a backward, one of its halves, a recompute, or a fused
  /// pair. Others do nothing.
  void run(int rank, const Action& action);
  /// Runs the jobs of all ranks of a plan, each when its messages are there.
  void runStep(const Plan& plan);
  /// The optimizer's step.
  void update(int rank);

  /// The bytes that a rank keeps between its jobs, and the most that it had, within its jobs too.
  std::int64_t held(int rank) const { return ranks_[index(rank)].held; }
  std::int64_t most(int rank) const { return ranks_[index(rank)].most; }
  void forgetMost(int rank) { ranks_[index(rank)].most = held(rank); }
  /// The bytes of its weights and buffers, and of their gradients.
  std::int64_t weights(int rank) const { return ranks_[index(rank)].weights; }
  std::int64_t gradients(int rank) const { return ranks_[index(rank)].gradients; }
  /// The bytes of the messages that its last job has made.
  std::int64_t sent(int rank) const { return ranks_[index(rank)].sent; }
  const TorchWork& work(int rank) const { return *ranks_[index(rank)].work; }

 private:
  struct Rank {
    std::unique_ptr<TorchWork> work;
    std::int64_t held = 0;
    std::int64_t most = 0;
    std::int64_t weights = 0;
    std::int64_t gradients = 0;
    std::int64_t sent = 0;
  };
  /// A tensor on a route, or its gradient, of one micro-batch.
  struct Key {
    std::size_t route = 0;
    bool isGradient = false;
    int microBatch = 0;
    auto operator<=>(const Key&) const = default;
  };

  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  /// The routes that lead into a stage, or out of it. `gradients`: those that have one.
  std::vector<std::size_t> routesOf(int stage, bool isInto, bool gradients) const;
  bool has(int stage, int microBatch, bool gradients) const;
  std::vector<Message> take(int stage, int microBatch, bool gradients);
  std::vector<Message> placesFor(int stage, bool gradients) const;
  void handOn(int stage, int microBatch, bool gradients, const std::vector<Message>& made);
  void forward(int rank, int stage, int microBatch);
  void backward(int rank, int stage, int microBatch, bool isWhole);
  template <typename Body>
  void counted(int rank, const Body& body);

  CountedBytes bytes_;
  std::vector<Rank> ranks_;
  TensorRoutes routes_;
  std::map<Key, at::Tensor> messages_;
  std::vector<std::pair<Key, at::Tensor>> made_;  // by the job that runs
  std::int64_t inTransit_ = 0;                    // bytes of messages_
};

}  // namespace pipetrace
