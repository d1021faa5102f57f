// Trainings on the device and on the CPU.
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/modules/pooling.h>
#include <torch/nn/modules/transformerlayer.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <cmath>
#include <cstring>

#include "runtime/testing/device/test_programs.h"

namespace pipetrace {
namespace {

using at::Tensor;
using testing::DeviceTest;
using ::testing::IsEmpty;
using torch::nn::Linear;
using torch::nn::Sequential;

constexpr int kWidth = 32;
constexpr int kHeads = 4;

torch::nn::LayerNorm layerNorm() {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({kWidth}));
}

/// A transformer's block, with attention as one operator or by hand.
class TrainedBlockImpl : public torch::nn::Module {
 public:
  TrainedBlockImpl(double dropout, bool isFused) : dropout_(dropout), isFused_(isFused) {
    register_module("before", before_);
    register_module("input", input_);
    register_module("output", output_);
    register_module("drop", drop_ = torch::nn::Dropout(dropout));
  }

  Tensor forward(const Tensor& x) {
    const auto rows = x.size(0);
    const auto words = x.size(1);
    const auto parts = input_(before_(x))
                           .view({rows, words, 3, kHeads, kWidth / kHeads})
                           .permute({2, 0, 3, 1, 4})
                           .unbind(0);
    const Tensor heads = attention(parts[0], parts[1], parts[2]);
    return x + drop_(output_(at::gelu(heads.transpose(1, 2).reshape({rows, words, kWidth}))));
  }

 private:
  Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value) {
    if (isFused_) {
      return at::scaled_dot_product_attention(query, key, value, {}, dropout_, /*is_causal=*/true);
    }
    const Tensor scores = at::matmul(query, key.transpose(-2, -1)) / std::sqrt(kWidth / kHeads);
    return at::matmul(drop_(at::softmax(scores, -1)), value);
  }

  const double dropout_;
  const bool isFused_;
  torch::nn::LayerNorm before_ = layerNorm();
  Linear input_{kWidth, 3 * kWidth};
  Linear output_{kWidth, kWidth};
  torch::nn::Dropout drop_{nullptr};
};
TORCH_MODULE(TrainedBlock);

/// A training: a model, one batch, its targets.
struct Training {
  std::string name;
  std::function<Sequential()> model;
  std::function<Tensor()> batch;
  std::function<Tensor()> targets;
  std::int64_t waitsOfStep = 0;  ///< of the host
};

Tensor words() { return at::randn({4, 8, kWidth}); }
Tensor wordTargets() { return at::randint(kWidth, {32}, at::kLong); }
Tensor rowTargets() { return at::randint(10, {8}, at::kLong); }

std::vector<Training> trainings() {
  using torch::nn::ReLU;
  const auto block = [](double dropout, bool isFused) {
    return [=] { return Sequential(TrainedBlock(dropout, isFused), Linear(kWidth, kWidth)); };
  };
  return {
      {"MLP", [] { return Sequential(Linear(64, 32), ReLU(), Linear(32, 10)); },
       [] {
         return at::randn({8, 64});
       },
       rowTargets},
      {"LayerNorm", [] { return Sequential(layerNorm(), Linear(kWidth, 10)); },
       [] {
         return at::randn({8, kWidth});
       },
       rowTargets},
      {"attention", block(0, false), words, wordTargets},
      {"attention with dropout", block(0.2, false), words, wordTargets},
      {"fused attention", block(0, true), words, wordTargets},
      {"fused attention with dropout", block(0.2, true), words, wordTargets},
      {"TransformerEncoderLayer",
       [] {
         return Sequential(torch::nn::TransformerEncoderLayer(
             torch::nn::TransformerEncoderLayerOptions(kWidth, kHeads).dim_feedforward(64)));
       },
       words, wordTargets, 2},  // LibTorch asks equal() whether query, key and value are the same
      {"Embedding",
       [] { return Sequential(torch::nn::Embedding(50, kWidth), Linear(kWidth, kWidth)); },
       [] {
         return at::randint(50, {4, 8}, at::kLong);
       },
       wordTargets},
      {"convolution with BatchNorm",
       [] {
         return Sequential(torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 8, 3).padding(1)),
                           torch::nn::BatchNorm2d(8), ReLU(), torch::nn::MaxPool2d(2),
                           torch::nn::AdaptiveAvgPool2d(1), torch::nn::Flatten(), Linear(8, 10));
       },
       [] {
         return at::randn({8, 3, 8, 8});
       },
       rowTargets}};
}

/// Losses, gradients, parameters and buffers of three steps.
template <typename Optimizer, typename Options>
std::vector<Tensor> train(const Training& training, c10::Device device, const Options& options) {
  torch::manual_seed(1);
  const Tensor batch = training.batch().to(device);
  const Tensor targets = training.targets().to(device);
  auto model = training.model();
  model->to(device);
  Optimizer optimizer(model->parameters(), options);
  std::vector<Tensor> results;
  for (int step = 0; step < 3; ++step) {
    const std::int64_t waits = hostWaits().total();
    optimizer.zero_grad();
    const Tensor output = model->forward(batch);
    const Tensor loss = at::cross_entropy_loss(output.reshape({-1, output.size(-1)}), targets);
    loss.backward();
    optimizer.step();
    EXPECT_EQ(hostWaits().total() - waits, device.is_cpu() ? 0 : training.waitsOfStep);
    results.push_back(loss.detach().cpu());
    for (const Tensor& parameter : model->parameters()) {
      if (parameter.grad().defined()) results.push_back(parameter.grad().cpu().clone());
    }
    for (const Tensor& parameter : model->parameters()) {
      results.push_back(parameter.detach().cpu().clone());
    }
    for (const Tensor& buffer : model->buffers()) results.push_back(buffer.cpu().clone());
  }
  return results;
}

bool hasSameBits(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && a.dtype() == b.dtype() &&
         std::memcmp(a.contiguous().data_ptr(), b.contiguous().data_ptr(), a.nbytes()) == 0;
}

class TrainingBitsTest : public DeviceTest {
 protected:
  template <typename Optimizer, typename Options>
  static void expectSame(const Options& options) {
    for (const Training& training : trainings()) {
      SCOPED_TRACE(training.name);
      const auto expected = train<Optimizer>(training, c10::kCPU, options);
      const auto found = train<Optimizer>(training, testDevice(0), options);
      ASSERT_EQ(found.size(), expected.size());
      ASSERT_GE(found.size(), 3u * 5u);
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_TRUE(hasSameBits(found[i], expected[i])) << "tensor " << i;
      }
      EXPECT_THAT(takeTestDeviceFindings(), IsEmpty());
    }
  }
};

TEST_F(TrainingBitsTest, SgdGivesTheBitsOfTheCpu) {
  expectSame<torch::optim::SGD>(torch::optim::SGDOptions(0.1).momentum(0.9).weight_decay(0.01));
}

TEST_F(TrainingBitsTest, AdamWGivesTheBitsOfTheCpu) {
  expectSame<torch::optim::AdamW>(torch::optim::AdamWOptions(1e-3));
}

}  // namespace
}  // namespace pipetrace
