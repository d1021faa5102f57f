// Measures how long ranks of a stage take to add up its gradients: from the end of the last
// backward to the optimizer's step. The ranks are threads of this process. Prints the median and
// the least over the steps of the slowest rank.
//
//   reduction_bench [in-process|gloo [ranks [MiB of gradients [buckets [steps]]]]]
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <torch/optim/sgd.h>
#include <torch/utils.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/engine/engine_main.h"
#include "runtime/executor.h"
#include "runtime/starting_ranks/local_port.h"
#include "runtime/train/torch_work.h"
#include "runtime/transport/gloo.h"
#include "runtime/transport/in_process.h"
#include "schedule/build_schedule.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

Nanoseconds steadyNow() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

constexpr int kParameters = 16;

/// Parameters that take memory and next to no time.
class WideBlock : public BlockModule {
 public:
  explicit WideBlock(std::int64_t numbers) {
    for (int i = 0; i < kParameters; ++i) {
      parameters_.push_back(
          register_parameter("p" + std::to_string(i), at::zeros({numbers / kParameters})));
    }
  }
  Tensors run(const Tensors& inputs) override {
    at::Tensor output = inputs[0];
    for (const at::Tensor& parameter : parameters_) output = output + parameter.sum();
    return {output};
  }

 private:
  Tensors parameters_;
};

Model wideModel(std::int64_t numbers) {
  return {.batch = {"x"},
          .blocks = {{.name = "wide",
                      .inputs = {"x"},
                      .outputs = {"y"},
                      .make = [numbers] { return std::make_shared<WideBlock>(numbers); }}},
          .lossInputs = {"y"},
          .loss = [](const Tensors& t) { return t[0].mean(); },
          .ties = {}};
}

class TimedTraining : public TorchWork {
 public:
  TimedTraining(TorchWorkOptions options, std::vector<Nanoseconds>& times)
      : TorchWork(std::move(options), {0}), times_(times) {}
  void runBackward(int stage, int microBatch, JobMessages messages) override {
    TorchWork::runBackward(stage, microBatch, messages);
    begin_ = steadyNow();
  }
  void optimizerStep() override { times_.push_back(steadyNow() - begin_); }

 private:
  std::vector<Nanoseconds>& times_;
  Nanoseconds begin_ = 0;
};

struct Bench {
  bool isOverGloo = false;
  int ranks = 2;
  std::int64_t mebibytes = 64;
  int buckets = 1;
  int steps = 21;
};

void trainRank(const Bench& bench, const CheckedPlan& plan, Transport& transport,
               std::vector<Nanoseconds>& times) {
  torch::set_num_threads(1);
  TimedTraining work({.model = wideModel(bench.mebibytes << 18),
                      .partition = {.blocks = {1}},
                      .replica = transport.rank(),
                      .optimizer =
                          [](const NamedParameters& named) {
                            return std::make_unique<torch::optim::SGD>(
                                tensorsOf(named), torch::optim::SGDOptions(0.1));
                          },
                      .reportsLoss = false},
                     times);
  Executor executor(plan, work, transport);
  for (int step = 0; step < bench.steps; ++step) {
    work.load({{"x", at::randn({1, 1})}});
    executor.runStep(step);
  }
  executor.finish();
}

int run(const Bench& bench) {
  const CheckedPlan plan(
      withReductions(withReplicas(buildSchedule("1F1B", 1, 1), bench.ranks), bench.buckets));
  std::vector<std::vector<Nanoseconds>> times(static_cast<std::size_t>(bench.ranks));
  InProcessHub hub(bench.ranks);
  const LocalPort port;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < bench.ranks; ++rank) {
    threads.emplace_back([&, rank] {
      GlooOptions options{.env = {.rank = rank,
                                  .localRank = rank,
                                  .worldSize = bench.ranks,
                                  .masterAddr = "127.0.0.1",
                                  .masterPort = port.number(),
                                  .attempt = "0"}};
      const auto transport = bench.isOverGloo ? connectGloo(options) : hub.connect(rank);
      trainRank(bench, plan, *transport, times[static_cast<std::size_t>(rank)]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<Nanoseconds> slowest;
  for (std::size_t step = 1; step < static_cast<std::size_t>(bench.steps); ++step) {
    Nanoseconds most = 0;
    for (const auto& own : times) most = std::max(most, own[step]);
    slowest.push_back(most);
  }
  std::sort(slowest.begin(), slowest.end());
  std::printf("median %.1f ms, least %.1f ms\n",
              static_cast<double>(slowest[slowest.size() / 2]) / 1e6,
              static_cast<double>(slowest.front()) / 1e6);
  return 0;
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  pipetrace::reuseFreedMemory();
  const auto number = [&](int place, int usual) {
    return argc > place ? std::atoi(argv[place]) : usual;
  };
  return pipetrace::run({.isOverGloo = argc > 1 && std::string(argv[1]) == "gloo",
                         .ranks = number(2, 2),
                         .mebibytes = number(3, 64),
                         .buckets = number(4, 1),
                         .steps = number(5, 21)});
}
