#include "runtime/train/model/random_numbers.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/dropout_compositeimplicitautograd_dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/feature_dropout_compositeimplicitautograd_dispatch.h>
#include <ATen/ops/scaled_dot_product_attention_compositeimplicitautograd_dispatch.h>
#include <torch/library.h>

#include <cstdio>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

namespace pipetrace {

namespace {

// Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014): the finalizer of
// SplitMix64.
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9E37'79B9'7F4A'7C15;
  value = (value ^ value >> 30U) * 0xBF58'476D'1CE4'E5B9;
  value = (value ^ value >> 27U) * 0x94D0'49BB'1331'11EB;
  return value ^ value >> 31U;
}

std::uint64_t combined(std::uint64_t seed, std::initializer_list<int> numbers) {
  std::uint64_t value = mixed(seed);
  for (const int number : numbers) value = mixed(value ^ static_cast<std::uint64_t>(number));
  return value;
}

at::Generator newGenerator(c10::Device device) {
  if (device.is_cpu()) return at::make_generator<at::CPUGeneratorImpl>();
  return at::globalContext()
      .getAcceleratorHooksInterface(device.type())
      .getNewGenerator(device.index());
}

// The thread's generator, and the seed that it still has to get.
struct ThreadNumbers {
  bool isSet = false;
  std::uint64_t seed = 0;
  bool isSeeded = false;
  std::optional<c10::Device> device;
  std::optional<at::Generator> generator;

  at::Generator& get(c10::Device of) {
    if (device != of) {
      generator = newGenerator(of);
      device = of;
      isSeeded = false;
    }
    if (!isSeeded) generator->set_current_seed(seed);
    isSeeded = true;
    return *generator;
  }
};

thread_local ThreadNumbers numbers;

bool drawsFromOwn(const at::Tensor& input, double p, bool train) {
  return numbers.isSet && train && p > 0 && p < 1 && input.numel() > 0;
}

at::Tensor scaledNoise(at::Tensor noise, double p) {
  return noise.bernoulli_(1 - p, numbers.get(noise.device())).div_(1 - p);
}

at::Tensor ownDropout(const at::Tensor& input, double p, bool train) {
  if (!drawsFromOwn(input, p, train))
    return at::compositeimplicitautograd::dropout(input, p, train);
  return input * scaledNoise(at::empty_like(input), p);
}

at::Tensor& ownDropoutInPlace(at::Tensor& input, double p, bool train) {
  if (!drawsFromOwn(input, p, train)) {
    return at::compositeimplicitautograd::dropout_(input, p, train);
  }
  return input.mul_(scaledNoise(at::empty_like(input), p));
}

// One number for each feature map: [rows, features, …] gets noise [rows, features, 1, …].
at::Tensor featureNoise(const at::Tensor& input, double p) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(input.dim()), 1);
  for (std::size_t i = 0; i < 2; ++i) sizes[i] = input.size(static_cast<std::int64_t>(i));
  return scaledNoise(at::empty(sizes, input.options()), p);
}

at::Tensor ownFeatureDropout(const at::Tensor& input, double p, bool train) {
  if (!drawsFromOwn(input, p, train) || input.dim() < 2) {
    return at::compositeimplicitautograd::feature_dropout(input, p, train);
  }
  return input * featureNoise(input, p);
}

at::Tensor& ownFeatureDropoutInPlace(at::Tensor& input, double p, bool train) {
  if (!drawsFromOwn(input, p, train) || input.dim() < 2) {
    return at::compositeimplicitautograd::feature_dropout_(input, p, train);
  }
  return input.mul_(featureNoise(input, p));
}

// The kernels of devices for the whole of attention draw their own numbers.
at::Tensor ownAttention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                        const std::optional<at::Tensor>& mask, double p, bool isCausal,
                        std::optional<double> scale, bool groups) {
  if (!drawsFromOwn(query, p, /*train=*/true)) {
    return at::compositeimplicitautograd::scaled_dot_product_attention(query, key, value, mask, p,
                                                                       isCausal, scale, groups);
  }
  static std::once_flag said;
  std::call_once(said, [] {
    std::fputs(
        "note: attention with dropout runs as single operators on devices, so that its random "
        "numbers are the pipeline's own\n",
        stderr);
  });
  return std::get<0>(at::_scaled_dot_product_attention_math(query, key, value, mask, p, isCausal,
                                                            /*dropout_mask=*/std::nullopt, scale,
                                                            groups));
}

void addDropouts(torch::Library& library) {
  library.impl("dropout", TORCH_FN(ownDropout));
  library.impl("dropout_", TORCH_FN(ownDropoutInPlace));
  library.impl("feature_dropout", TORCH_FN(ownFeatureDropout));
  library.impl("feature_dropout_", TORCH_FN(ownFeatureDropoutInPlace));
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, AutogradCPU, library) { addDropouts(library); }
TORCH_LIBRARY_IMPL(aten, AutogradCUDA, library) {
  addDropouts(library);
  library.impl("scaled_dot_product_attention", TORCH_FN(ownAttention));
}
TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, library) {
  addDropouts(library);
  library.impl("scaled_dot_product_attention", TORCH_FN(ownAttention));
}

RandomNumbersAt::RandomNumbersAt(const RandomPlace& place) {
  numbers.isSet = true;
  numbers.seed = combined(place.seed, {place.step, place.microBatch, place.block});
  numbers.isSeeded = false;
}

RandomNumbersAt::~RandomNumbersAt() { numbers.isSet = false; }

std::uint64_t weightSeed(std::uint64_t seed, int block) { return combined(~seed, {block}); }

}  // namespace pipetrace
