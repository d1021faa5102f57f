#include "samples/testing/faulty_blocks.h"

#include <ATen/ops/empty.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "samples/testing/memory_limit.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

// The step that this thread computes.
thread_local int currentStep = -1;

/// One fault of all blocks of a rank.
class StageFault {
 public:
  explicit StageFault(PlannedFault fault) : fault_(std::move(fault)) {}

  bool isOf(const char* pass) const { return fault_.kind.ends_with(pass); }

  /// A block runs.
  void visit() {
    if (currentStep < fault_.step || calls_.fetch_add(1) != fault_.call) return;
    markFault();
    if (fault_.kind.starts_with("sleep-")) {
      std::this_thread::sleep_for(std::chrono::duration<double>(fault_.seconds));
    } else if (fault_.kind.starts_with("throw-")) {
      throw std::runtime_error("the made-up fault of a stage");
    } else if (fault_.kind.starts_with("allocate-")) {
      allocateTooMuch();
    } else if (fault_.kind.starts_with("kill-")) {
      raise(SIGKILL);
    } else if (fault_.kind.starts_with("close-")) {
      close(STDOUT_FILENO);
      close(STDERR_FILENO);
    }
  }

 private:
  static void allocateTooMuch() {
    constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
    if (std::getenv("RANK") == nullptr) {  // a limit would hit the other ranks, too
      at::empty({kGibibyte << 17}, at::kByte);
    }
    limitMemory();
    at::empty({kGibibyte}, at::kByte);
  }

  const PlannedFault fault_;
  std::atomic<int> calls_{0};
};

class FaultyBlock final : public BlockModule {
 public:
  FaultyBlock(std::shared_ptr<BlockModule> usual, std::shared_ptr<StageFault> fault)
      : usual_(std::move(usual)), fault_(std::move(fault)) {
    // Under the names that they have without a fault, for checkpoints.
    for (const auto& child : usual_->named_children()) register_module(child.key(), child.value());
    for (const auto& own : usual_->named_parameters(/*recurse=*/false)) {
      register_parameter(own.key(), own.value());
    }
    for (const auto& own : usual_->named_buffers(/*recurse=*/false)) {
      register_buffer(own.key(), own.value());
    }
  }

  void train(bool on) override {
    BlockModule::train(on);
    usual_->train(on);
  }

  Tensors run(const Tensors& inputs) override {
    if (fault_->isOf("-forward")) fault_->visit();
    Tensors outputs = usual_->run(inputs);
    if (!fault_->isOf("-backward") || !outputs[0].requires_grad()) return outputs;
    outputs[0].register_hook([fault = fault_](const at::Tensor&) { fault->visit(); });
    return outputs;
  }

 private:
  const std::shared_ptr<BlockModule> usual_;
  const std::shared_ptr<StageFault> fault_;
};

}  // namespace

void plantFault(SampleTask& task, const PlannedFault& fault, const std::vector<int>& blocks) {
  const bool isOfAStage = fault.kind.ends_with("-forward") || fault.kind.ends_with("-backward");
  if (!isOfAStage || !fault.isHere()) return;
  if (!task.learningRate) throw Error("this model has no function that a stage calls each step");
  const auto shared = std::make_shared<StageFault>(fault);
  for (const int number : blocks) {
    Block& block = task.model.blocks.at(static_cast<std::size_t>(number));
    block.make = [usual = block.make, shared] {
      return std::make_shared<FaultyBlock>(usual(), shared);
    };
  }
  task.learningRate = [usual = task.learningRate](int step) {
    currentStep = step;
    return usual(step);
  };
}

}  // namespace pipetrace
