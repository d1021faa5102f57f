#pragma once

#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <vector>

namespace pipetrace {

/// A linear layer whose weight gradient is made apart from the rest of the backward: where a plan
/// splits backwards, in the weight half (WeightHalf).
///
/// Outputs and the gradients of inputs and bias have the bits of torch::nn::Linear, and under
/// autocast those of at::linear(), as Python's nn.Linear has them. (There torch::nn::Linear rounds
/// before it adds the bias to inputs of three dimensions.) The weight's gradient is added straight
/// into `weight.grad()`, so that sums over micro-batches may round differently. Under autocast a
/// micro-batch's part has autocast's type, as torch's has, and the sum that of the weight. It is
/// not part of the graph: hooks of the weight are not called, and torch::autograd::grad() does not
/// see it.
class LinearImpl : public torch::nn::LinearImpl {
 public:
  using torch::nn::LinearImpl::LinearImpl;
  at::Tensor forward(const at::Tensor& input);
};
TORCH_MODULE(Linear);

/// Computes the same as Linear, for weights that a module keeps in another way. `weight` is a leaf
/// [outputs, inputs]; `bias` may be undefined.
at::Tensor linearWithWeightHalf(const at::Tensor& input, const at::Tensor& weight,
                                const at::Tensor& bias);

/// The weight gradients of linear layers that an input half has left for the weight half.
///
/// Threads: one at a time.
class WeightHalf {
 public:
  /// While it lives, backwards on this thread leave their weight gradients to `half`.
  class Collecting {
   public:
    explicit Collecting(WeightHalf& half);
    ~Collecting();
    Collecting(const Collecting&) = delete;
    Collecting& operator=(const Collecting&) = delete;
  };

  /// Adds the gradients, in the order in which they were left, and forgets them.
  void run();
  bool isEmpty() const { return products_.empty(); }

  /// weight.grad() += gradient^T x input; the two have one type
  struct Product {
    at::Tensor weight;
    at::Tensor gradient;  ///< [rows, outputs]
    at::Tensor input;     ///< [rows, inputs]
  };
  void add(Product product) { products_.push_back(std::move(product)); }

 private:
  std::vector<Product> products_;
};

}  // namespace pipetrace
