#pragma once

#include <torch/optim/optimizer.h>

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace pipetrace {

/// Options of Lamb, as LibTorch's optimizers have theirs. Weight decay is lambda of the paper.
struct LambOptions : public torch::optim::OptimizerCloneableOptions<LambOptions> {
  using betas_t = std::tuple<double, double>;
  LambOptions(double lr = 1e-3) : lr_(lr) {}  // NOLINT(google-explicit-constructor): as LibTorch's
  TORCH_ARG(double, lr) = 1e-3;
  TORCH_ARG(betas_t, betas) = std::make_tuple(0.9, 0.999);
  TORCH_ARG(double, eps) = 1e-6;
  TORCH_ARG(double, weight_decay) = 0;

 public:
  double get_lr() const override { return lr(); }
  void set_lr(const double lr) override { this->lr(lr); }
};

/// Lamb keeps this of a parameter: the number of its steps and both moments.
struct LambParamState : public torch::optim::OptimizerCloneableParamState<LambParamState> {
  TORCH_ARG(std::int64_t, step) = 0;
  TORCH_ARG(at::Tensor, exp_avg);
  TORCH_ARG(at::Tensor, exp_avg_sq);
};

/// LAMB of You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes",
/// ICLR 2020, algorithm 2, a layer being a parameter:
///
///     m = b1 m + (1 - b1) g          m' = m / (1 - b1^t)
///     v = b2 v + (1 - b2) g^2        v' = v / (1 - b2^t)
///     u = m' / (sqrt(v') + eps) + lambda x
///     x = x - lr * |x| / |u| * u
///
/// The norms are Euclidean; phi of the paper is the identity. The trust ratio |x| / |u| is 1 where
/// one of the two norms is 0. It is taken of every parameter, also of biases and norms, decayed or
/// not. On a device nobody waits for it.
///
/// Throws c10::Error for options that LibTorch's AdamW refuses. It has no serialization of
/// LibTorch's; checkpoints know its state (optimizer_state.h).
class Lamb : public torch::optim::Optimizer {
 public:
  explicit Lamb(const std::vector<torch::optim::OptimizerParamGroup>& groups,
                LambOptions defaults = {});
  explicit Lamb(std::vector<at::Tensor> parameters, LambOptions defaults = {})
      : Lamb({torch::optim::OptimizerParamGroup(std::move(parameters))}, std::move(defaults)) {}

  at::Tensor step(LossClosure closure = nullptr) override;
};

/// One step of Lamb for one parameter: reads its value from `from` and writes the new one into
/// `into`, which may be the same tensor. Makes `state` where it is null. Without autograd.
void lambStep(const at::Tensor& from, at::Tensor& into, const at::Tensor& gradient,
              std::unique_ptr<torch::optim::OptimizerParamState>& state,
              const LambOptions& options);

}  // namespace pipetrace
