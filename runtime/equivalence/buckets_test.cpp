// Gradients in buckets: what travels, what is kept, what the optimizer sees.
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <torch/optim/adamw.h>
#include <torch/utils.h>

#include <barrier>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/executor.h"
#include "runtime/stage_work.h"
#include "runtime/starting_ranks/local_port.h"
#include "runtime/sums/gradient_sums.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/testing/training_case.h"
#include "runtime/train/torch_work.h"
#include "runtime/transport/forwarding_transport.h"
#include "runtime/transport/gloo.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

using testing::runRanksOrThrow;
using testing::TrainingCase;

/// A sum of what a linear layer makes, for a loss that is linear in it. One parameter is never
/// used, and one only for rows that begin with a positive number.
class SpareBlock : public BlockModule {
 public:
  explicit SpareBlock(std::int64_t width) {
    used_ = register_parameter("used", at::randn({width, width}));
    never_ = register_parameter("never", at::randn({3}));
    sometimes_ = register_parameter("sometimes", at::randn({width}));
  }
  Tensors run(const Tensors& inputs) override {
    at::Tensor output = inputs[0].matmul(used_).tanh();
    if (inputs[0][0][0].item<float>() > 0) output = output + sometimes_;
    return {output};
  }

 private:
  at::Tensor used_;
  at::Tensor never_;
  at::Tensor sometimes_;
};

constexpr std::int64_t kBucketRows = 4;

Model spareModel(std::int64_t width, int blocks = 1) {
  Model model{.batch = {"x0"}};
  for (int b = 0; b < blocks; ++b) {
    const std::string number = std::to_string(b);
    model.blocks.push_back({.name = "block" + number,
                            .inputs = {"x" + number},
                            .outputs = {"x" + std::to_string(b + 1)},
                            .make = [width] { return std::make_shared<SpareBlock>(width); }});
  }
  model.lossInputs = {"x" + std::to_string(blocks)};
  model.loss = [](const Tensors& t) { return t[0].pow(2).mean(); };
  return model;
}

/// Replica 1 has the rows that begin with a positive number.
Batch spareBatch(std::int64_t width, int step, int replica) {
  at::Tensor rows = (at::zeros({kBucketRows, width}) + 0.1 * (step + 1)).cumsum(1);
  if (replica != 1) rows = -rows;
  return {{"x0", rows}};
}

std::unique_ptr<torch::optim::Optimizer> decaying(const Tensors& parameters) {
  return std::make_unique<torch::optim::AdamW>(parameters,
                                               torch::optim::AdamWOptions(0.05).weight_decay(0.5));
}

TorchWorkOptions spareOptions(const Plan& plan, int rank, std::int64_t width, int steps = 1) {
  return {.model = spareModel(width, plan.numStages),
          .partition = {.blocks = std::vector<int>(static_cast<std::size_t>(plan.numStages), 1)},
          .numMicroBatches = plan.microBatchesOfReplica(),
          .replica = plan.replicaOf(rank),
          .seed = 5,
          .optimizer = [](const NamedParameters& named) { return decaying(tensorsOf(named)); },
          .batch = [width](int step, int replica) { return spareBatch(width, step, replica); },
          .steps = steps};
}

CheckedPlan oneStage(int replicas, int microBatches = 1) {
  return CheckedPlan(withReplicas(buildSchedule("1F1B", 1, microBatches), replicas));
}

/// The same by hand.
Tensors trainedByHand(int steps, int replicas, std::int64_t width) {
  const auto block = makeBlock(spareModel(width), 0, 5);
  const Tensors parameters = block->parameters();
  const auto optimizer = decaying(parameters);
  for (int step = 0; step < steps; ++step) {
    Tensors sums(parameters.size());
    for (int replica = 0; replica < replicas; ++replica) {
      for (const at::Tensor& parameter : parameters) parameter.mutable_grad() = at::Tensor();
      const Tensors out = block->run({spareBatch(width, step, replica).at("x0")});
      (out[0].pow(2).mean() * (1.0 / replicas)).backward();
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const at::Tensor& own = parameters[i].grad();
        if (own.defined()) sums[i] = sums[i].defined() ? sums[i] + own : own.clone();
      }
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameters[i].mutable_grad() = sums[i];
    }
    optimizer->step();
  }
  return parameters;
}

TEST(Buckets, AParameterWithoutAGradientIsLeftAloneAsByOneProcess) {
  constexpr int kSteps = 3;
  torch::set_num_threads(1);
  for (const int replicas : {2, 3}) {
    const Tensors byHand = trainedByHand(kSteps, replicas, 6);
    const CheckedPlan plan = oneStage(replicas);
    const auto errors =
        runConnected(testing::Wiring::kInProcess, replicas, [&](Transport& transport) {
          TorchWork work(spareOptions(*plan, transport.rank(), 6, kSteps), {0});
          const at::Tensor never = work.parameters()[1].detach().clone();
          Executor executor(plan, work, transport);
          for (int step = 0; step < kSteps; ++step) executor.runStep(step);
          executor.finish();
          const Tensors own = work.parameters();
          EXPECT_EQ(testing::firstDifference(own, byHand), "");
          EXPECT_FALSE(own[1].grad().defined());
          EXPECT_TRUE(own[1].equal(never)) << "weight decay";
          EXPECT_TRUE(own[2].grad().defined()) << "of replica 1";
        });
    EXPECT_THAT(errors, ::testing::Each(""));
  }
}

TEST(Buckets, ReplicasWithOtherShapesAreNamed) {
  const CheckedPlan plan = oneStage(2);
  const auto errors = runConnected(testing::Wiring::kInProcess, 2, [&](Transport& transport) {
    TorchWork work(spareOptions(*plan, transport.rank(), transport.rank() == 0 ? 6 : 8), {0});
    Executor executor(plan, work, transport);
    executor.runStep(0);
    executor.finish();
  });
  EXPECT_THAT(errors, ::testing::Contains(::testing::HasSubstr(
                          "have stage 0, but their gradients of it are not of the same size")));
}

/// Counts the buckets that are filled.
class CountedBuckets : public GradientBuckets {
 public:
  explicit CountedBuckets(GradientBuckets& inner) : inner_(inner) {}
  at::Tensor fill(const GradientBucket& bucket) override {
    ++fills_;
    return inner_.fill(bucket);
  }
  at::Tensor addUp(const GradientBucket& bucket, std::int64_t first,
                   const std::vector<at::Tensor>& parts) override {
    return inner_.addUp(bucket, first, parts);
  }
  void summed(const GradientBucket& bucket) override { inner_.summed(bucket); }

  int fills_ = 0;

 private:
  GradientBuckets& inner_;
};

class CountedWork : public ForwardingWork {
 public:
  explicit CountedWork(TorchWork& inner) : ForwardingWork(inner), buckets_(*inner.buckets()) {}
  GradientBuckets* buckets() override { return &buckets_; }

  CountedBuckets buckets_;
};

std::set<const void*> storagesOf(const Tensors& parameters) {
  std::set<const void*> storages;
  for (const at::Tensor& parameter : parameters) {
    if (!parameter.grad().defined()) continue;
    storages.insert(parameter.grad().storage().unsafeGetStorageImpl());
  }
  return storages;
}

TEST(Buckets, GradientsAreViewsOfOneAndAStageOfOneRankFillsNone) {
  for (const int replicas : {1, 2}) {
    const CheckedPlan plan = oneStage(replicas);
    const auto errors =
        runConnected(testing::Wiring::kInProcess, replicas, [&](Transport& transport) {
          // One replica has one gradient, and two have two.
          TorchWork work(spareOptions(*plan, transport.rank(), 6), {0});
          CountedWork counted(work);
          Executor executor(plan, counted, transport);
          executor.runStep(0);
          executor.finish();
          EXPECT_EQ(counted.buckets_.fills_, replicas == 1 ? 0 : 1);
          EXPECT_EQ(storagesOf(work.parameters()).size(), 1U);
        });
    EXPECT_THAT(errors, ::testing::Each(""));
  }
}

/// Counts the bytes between copies of a stage.
class CountingTransport : public ForwardingTransport {
 public:
  explicit CountingTransport(Transport& inner) : ForwardingTransport(inner) {}
  std::unique_ptr<SendLane<Message>> openSend(int to, const LaneName& name,
                                              std::size_t messages) override {
    auto lane = inner().openSend(to, name, messages);
    if (name.kind != MessageKind::kStageGradients) return lane;
    return std::make_unique<CountingLane>(std::move(lane), bytes_);
  }

  std::int64_t bytes_ = 0;

 private:
  class CountingLane : public SendLane<Message> {
   public:
    CountingLane(std::unique_ptr<SendLane<Message>> inner, std::int64_t& bytes)
        : inner_(std::move(inner)), bytes_(bytes) {}
    void send(const MessageKey& key, Message&& message) override {
      bytes_ += message.bytes();
      inner_->send(key, std::move(message));
    }
    std::optional<std::uint64_t> nextDone() override { return inner_->nextDone(); }
    void awaitAll() override { inner_->awaitAll(); }

   private:
    const std::unique_ptr<SendLane<Message>> inner_;
    std::int64_t& bytes_;
  };
};

TEST(Buckets, ARankSendsTwiceTheSharesOfTheOthersOfItsGradientsBytes) {
  constexpr std::int64_t kWidth = 100;
  // The gradients, 16 bytes of gaps, the bytes that say what is there, and the loss.
  constexpr std::int64_t kBytes = 4 * (kWidth * kWidth + 3 + kWidth) + 4 + 16 + 16;
  for (const int ranks : {2, 3, 4}) {
    const CheckedPlan plan = oneStage(ranks);
    for (const auto wiring : {testing::Wiring::kInProcess, testing::Wiring::kGloo}) {
      const auto errors = runConnected(wiring, ranks, [&](Transport& transport) {
        CountingTransport counting(transport);
        TorchWork work(spareOptions(*plan, transport.rank(), kWidth), {0});
        Executor executor(plan, work, counting);
        executor.runStep(0);
        executor.finish();
        // Parts differ by 16 bytes, so a rank's n - 1 parts and sums by twice as much each.
        EXPECT_NEAR(static_cast<double>(counting.bytes_),
                    2.0 * (ranks - 1) / ranks * static_cast<double>(kBytes), 32 * (ranks - 1));
      });
      EXPECT_THAT(errors, ::testing::Each(""));
    }
  }
}

/// Both ranks come to each backward of stage 0 together.
class InStep : public CountedWork {
 public:
  InStep(TorchWork& inner, std::barrier<>& barrier, std::vector<std::string>& done)
      : CountedWork(inner), barrier_(barrier), added_(*inner.buckets(), done), done_(done) {}
  GradientBuckets* buckets() override { return &added_; }
  void runBackward(int stage, int microBatch, JobMessages messages) override {
    if (stage == 0) barrier_.arrive_and_wait();
    done_.push_back(std::to_string(stage) + "B");
    CountedWork::runBackward(stage, microBatch, messages);
  }

 private:
  class Added : public CountedBuckets {
   public:
    Added(GradientBuckets& inner, std::vector<std::string>& done)
        : CountedBuckets(inner), done_(done) {}
    at::Tensor addUp(const GradientBucket& bucket, std::int64_t first,
                     const std::vector<at::Tensor>& parts) override {
      done_.push_back("add " + std::to_string(bucket.stage));
      return CountedBuckets::addUp(bucket, first, parts);
    }
    void summed(const GradientBucket& bucket) override {
      done_.push_back("summed " + std::to_string(bucket.stage));
      CountedBuckets::summed(bucket);
    }

   private:
    std::vector<std::string>& done_;
  };

  std::barrier<>& barrier_;
  Added added_;
  std::vector<std::string>& done_;
};

TEST(Buckets, AStageIsAddedUpBetweenTheJobsOfAnother) {
  const CheckedPlan plan(
      withReplicas(readPlan("0F0,0F1,0F2,1F0,1F1,1F2,1B0,1B1,1B2,0B0,0B1,0B2", "two"), 2));
  std::barrier barrier(2);
  std::vector<std::vector<std::string>> done(2);
  const auto errors = runConnected(testing::Wiring::kInProcess, 2, [&](Transport& transport) {
    TorchWork work(spareOptions(*plan, transport.rank(), 6), {0, 1});
    InStep inStep(work, barrier, done[static_cast<std::size_t>(transport.rank())]);
    Executor executor(plan, inStep, transport);
    executor.runStep(0);
    executor.finish();
  });
  EXPECT_THAT(errors, ::testing::Each(""));
  for (const std::vector<std::string>& own : done) {
    const auto at = [&](const std::string& what) { return std::ranges::find(own, what); };
    const auto last = std::find(own.rbegin(), own.rend(), "0B").base();
    EXPECT_LT(at("add 1"), last);
    EXPECT_LT(at("summed 1"), last);
    EXPECT_GT(at("add 0"), last - 1);
  }
}

/// "" if all ranks have the bits of one process.
std::string bucketDifference(const TrainingCase& training, const CheckedPlan& plan,
                             const std::function<std::unique_ptr<Transport>(int rank)>& connect) {
  std::vector<testing::RankResult> results(plan->ranks.size());
  runRanksOrThrow(plan->numRanks(), [&](int rank) {
    const std::unique_ptr<Transport> transport = connect(rank);
    results[static_cast<std::size_t>(rank)] = trainRank(training, plan, *transport);
  });
  return testing::firstDifference(results, trainAlone(training, *plan));
}

TEST(Buckets, SeveralOfAStageGiveTheBitsOfOneProcess) {
  for (const char* const name : {"1F1B", "Interleaved1F1B", "DualPipe"}) {
    const CheckedPlan plan(withReductions(withReplicas(buildSchedule(name, 2, 4), 2), 3));
    TrainingCase training{.numStages = plan->numStages, .microBatches = 4, .rows = 16};
    if (plan->numStages > 2) training.model = testing::CaseModel::kRich;
    for (const auto wiring : {testing::Wiring::kInProcess, testing::Wiring::kGloo}) {
      std::vector<testing::RankResult> results(plan->ranks.size());
      const auto errors = runConnected(wiring, plan->numRanks(), [&](Transport& transport) {
        results[static_cast<std::size_t>(transport.rank())] = trainRank(training, plan, transport);
      });
      EXPECT_THAT(errors, ::testing::Each(""));
      EXPECT_EQ(testing::firstDifference(results, trainAlone(training, *plan)), "") << name;
    }
  }
}

TEST(Buckets, TrainingWhereEachSendWaitsForItsReceiveHasTheBitsOfOneProcess) {
  for (const int replicas : {2, 3}) {
    const LocalPort port;
    const auto connect = [&](int rank) {
      GlooOptions options{.env = {.rank = rank,
                                  .localRank = rank,
                                  .worldSize = replicas,
                                  .masterAddr = "127.0.0.1",
                                  .masterPort = port.number(),
                                  .attempt = "0"}};
      options.overlaps = false;
      return connectGloo(options);
    };
    const TrainingCase training{.numStages = 1, .microBatches = 4, .rows = 12};
    EXPECT_EQ(bucketDifference(training, oneStage(replicas, 4), connect), "");
  }
}

}  // namespace
}  // namespace pipetrace
