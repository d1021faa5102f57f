#include "runtime/train/model/linear.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "runtime/train/optimize/precision.h"

namespace pipetrace {
namespace {

struct Gradients {
  at::Tensor output;
  at::Tensor input;
  at::Tensor weight;
  at::Tensor bias;
};

constexpr int kInputs = 24;
constexpr int kOutputs = 40;

at::Tensor randomTensor(at::IntArrayRef sizes, int seed) {
  torch::manual_seed(static_cast<std::uint64_t>(seed));
  return at::randn(sizes);
}

torch::nn::LinearOptions optionsWith(bool bias) {
  return torch::nn::LinearOptions(kInputs, kOutputs).bias(bias);
}

/// Runs a forward in that precision and a backward of the layer, which keeps its gradients.
template <typename Layer>
Gradients run(Layer& layer, const at::Tensor& input, Precision precision = Precision::kFp32) {
  const at::Tensor leaf = input.detach().requires_grad_();
  at::Tensor output;
  {
    const Autocast autocast(precision, c10::kCPU);
    output = layer->forward(leaf);
  }
  output.backward(randomTensor(output.sizes(), 5).to(output.scalar_type()));
  return {output.detach(), leaf.grad(), layer->weight.grad(),
          layer->bias.defined() ? layer->bias.grad() : at::Tensor()};
}

bool haveSameBits(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() == b.defined() &&
         (!a.defined() || (a.scalar_type() == b.scalar_type() && a.equal(b)));
}

TEST(Linear, OutputsAndGradientsOfInputsAndBiasHaveTheBitsOfTorch) {
  const std::vector<at::Tensor> inputs = {
      randomTensor({32, kInputs}, 1), randomTensor({4, 9, kInputs}, 2),
      randomTensor({2, 3, 4, kInputs}, 3), randomTensor({kInputs}, 4),
      randomTensor({9, 4, kInputs}, 6).transpose(0, 1)};
  for (const bool bias : {true, false}) {
    for (const at::Tensor& input : inputs) {
      torch::manual_seed(11);
      torch::nn::Linear theirs(optionsWith(bias));
      torch::manual_seed(11);
      Linear ours(optionsWith(bias));
      ASSERT_TRUE(ours->weight.equal(theirs->weight));
      const Gradients a = run(ours, input);
      const Gradients b = run(theirs, input);
      EXPECT_TRUE(haveSameBits(a.output, b.output)) << input.sizes() << bias;
      EXPECT_TRUE(haveSameBits(a.input, b.input)) << input.sizes() << bias;
      EXPECT_TRUE(haveSameBits(a.bias, b.bias)) << input.sizes() << bias;
      EXPECT_LE((a.weight - b.weight).norm().item<double>(), 1e-6 * b.weight.norm().item<double>());
      EXPECT_TRUE(a.weight.is_contiguous());
    }
  }
}

// As Python's nn.Linear. C++'s adds the bias apart.
class AtLinearImpl : public torch::nn::LinearImpl {
 public:
  using torch::nn::LinearImpl::LinearImpl;
  at::Tensor forward(const at::Tensor& input) { return at::linear(input, weight, bias); }
};
TORCH_MODULE(AtLinear);

// The sums over micro-batches are fp32, as torch's; each micro-batch's part has autocast's type.
TEST(Linear, UnderAutocastItHasTheBitsOfTorch) {
  for (const Precision precision : {Precision::kBf16, Precision::kFp16}) {
    for (const auto type :
         {at::kFloat, precision == Precision::kBf16 ? at::kBFloat16 : at::kHalf}) {
      torch::manual_seed(11);
      AtLinear theirs(optionsWith(true));
      torch::manual_seed(11);
      Linear ours(optionsWith(true));
      for (int microBatch = 0; microBatch < 3; ++microBatch) {
        const at::Tensor input = randomTensor({4, 9, kInputs}, 20 + microBatch).to(type);
        const Gradients a = run(ours, input, precision);
        const Gradients b = run(theirs, input, precision);
        EXPECT_NE(a.output.scalar_type(), at::kFloat);
        EXPECT_TRUE(haveSameBits(a.output, b.output)) << microBatch;
        EXPECT_TRUE(haveSameBits(a.input, b.input)) << microBatch;
        EXPECT_TRUE(haveSameBits(a.bias, b.bias)) << microBatch;
        EXPECT_EQ(a.weight.scalar_type(), at::kFloat);
        EXPECT_LE((a.weight - b.weight).norm().item<double>(),
                  1e-3 * b.weight.norm().item<double>());
      }
    }
  }
}

TEST(Linear, UnderAutocastTheWeightHalfMakesTheGradientThatTheInputHalfLeft) {
  torch::manual_seed(11);
  Linear layer(optionsWith(true));
  torch::manual_seed(11);
  Linear whole(optionsWith(true));
  for (int microBatch = 0; microBatch < 3; ++microBatch) {
    const at::Tensor input = randomTensor({32, kInputs}, microBatch);
    WeightHalf half;
    {
      const WeightHalf::Collecting collecting(half);
      run(layer, input, Precision::kBf16);
    }
    half.run();
    run(whole, input, Precision::kBf16);
    EXPECT_TRUE(haveSameBits(layer->weight.grad(), whole->weight.grad())) << microBatch;
  }
}

TEST(Linear, TheWeightHalfMakesTheGradientThatTheInputHalfLeft) {
  Linear layer(optionsWith(true));
  Linear whole(optionsWith(true));
  {
    const torch::NoGradGuard noGrad;
    whole->weight.copy_(layer->weight);
    whole->bias.copy_(layer->bias);
  }
  const at::Tensor input = randomTensor({32, kInputs}, 1);
  for (int microBatch = 0; microBatch < 3; ++microBatch) {
    WeightHalf half;
    const at::Tensor before =
        layer->weight.grad().defined() ? layer->weight.grad().clone() : at::Tensor();
    {
      const WeightHalf::Collecting collecting(half);
      run(layer, input);
    }
    EXPECT_TRUE(haveSameBits(layer->weight.grad(), before)) << "nothing yet";
    EXPECT_FALSE(half.isEmpty());
    half.run();
    EXPECT_TRUE(half.isEmpty());
    run(whole, input);
    EXPECT_TRUE(haveSameBits(layer->weight.grad(), whole->weight.grad())) << microBatch;
    EXPECT_TRUE(haveSameBits(layer->bias.grad(), whole->bias.grad())) << microBatch;
  }
}

TEST(Linear, SumsOverMicroBatchesAreMadeInPlace) {
  Linear layer(optionsWith(true));
  run(layer, randomTensor({32, kInputs}, 1));
  const void* const place = layer->weight.grad().data_ptr();
  run(layer, randomTensor({32, kInputs}, 2));
  EXPECT_EQ(layer->weight.grad().data_ptr(), place);
}

TEST(Linear, TensorsThatNeedNoGradientGetNone) {
  Linear layer(optionsWith(true));
  layer->weight.requires_grad_(false);
  layer->bias.requires_grad_(false);
  const at::Tensor leaf = randomTensor({3, kInputs}, 1).requires_grad_();
  layer->forward(leaf).sum().backward();
  EXPECT_TRUE(leaf.grad().defined());
  EXPECT_FALSE(layer->weight.grad().defined());

  Linear first(optionsWith(true));
  first->forward(randomTensor({3, kInputs}, 1)).sum().backward();
  EXPECT_TRUE(first->weight.grad().defined());
  const torch::NoGradGuard noGrad;
  EXPECT_FALSE(first->forward(leaf).requires_grad());
}

}  // namespace
}  // namespace pipetrace
