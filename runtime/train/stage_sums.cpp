#include "runtime/train/stage_sums.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

namespace pipetrace {
namespace {

/// Each part begins at a multiple of that, so that it can be seen as numbers of its type.
constexpr std::int64_t kAlignment = 16;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Part of the bytes, as a tensor of that shape and type.
at::Tensor part(const at::Tensor& packed, std::int64_t offset, const at::Tensor& like) {
  return packed.narrow(0, offset, static_cast<std::int64_t>(like.nbytes()))
      .view(like.scalar_type())
      .view(like.sizes());
}

}  // namespace

at::Tensor StageSums::pack(const std::vector<at::Tensor>& parameters, const at::Tensor& loss) {
  const at::NoGradGuard noGrad;
  std::int64_t bytes = kAlignment;
  for (const at::Tensor& parameter : parameters) {
    bytes += aligned(static_cast<std::int64_t>(parameter.nbytes()));
  }
  const at::Device device = !parameters.empty() ? parameters.front().device()
                            : loss.defined()    ? loss.device()
                                                : at::Device(at::kCPU);
  // The gaps between the parts travel, too.
  at::Tensor packed = at::zeros({bytes}, at::TensorOptions(at::kByte).device(device));
  if (loss.defined()) lossOf(packed).copy_(loss);
  const std::vector<at::Tensor> gradients = gradientsOf(packed, parameters);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& gradient = parameters[i].grad();
    if (gradient.defined()) at::Tensor(gradients[i]).copy_(gradient);
  }
  return packed;
}

at::Tensor StageSums::lossOf(const at::Tensor& packed) {
  return packed.narrow(0, 0, static_cast<std::int64_t>(sizeof(double)))
      .view(at::kDouble)
      .squeeze(0);
}

std::vector<at::Tensor> StageSums::gradientsOf(const at::Tensor& packed,
                                               const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> gradients;
  std::int64_t offset = kAlignment;
  for (const at::Tensor& parameter : parameters) {
    gradients.push_back(part(packed, offset, parameter));
    offset += aligned(static_cast<std::int64_t>(parameter.nbytes()));
  }
  return gradients;
}

void StageSums::addUp(const std::vector<at::Tensor>& copies,
                      const std::vector<at::Tensor>& parameters) {
  const at::NoGradGuard noGrad;
  std::vector<std::vector<at::Tensor>> gradients;
  for (const at::Tensor& copy : copies) gradients.push_back(gradientsOf(copy, parameters));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor sum = gradients.front()[i].clone();
    for (std::size_t c = 1; c < copies.size(); ++c) sum.add_(gradients[c][i]);
    at::Tensor(parameters[i]).mutable_grad() = sum;
  }
}

}  // namespace pipetrace
