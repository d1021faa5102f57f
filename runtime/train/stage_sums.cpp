#include "runtime/train/stage_sums.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/bitwise_or.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <numeric>

#include "schedule/backward_parts.h"

namespace pipetrace {
namespace {

std::int64_t inUnits(std::int64_t bytes) {
  constexpr std::int64_t kUnit = GradientBuckets::kUnit;
  return (bytes + kUnit - 1) / kUnit * kUnit;
}

std::int64_t bytesOf(const at::Tensor& tensor) {
  return static_cast<std::int64_t>(tensor.nbytes());
}

/// The parameters of a bucket: those whose middle is in its share of the bytes.
std::vector<at::Tensor> shareOf(const std::vector<at::Tensor>& parameters, int number, int of) {
  std::int64_t all = 0;
  for (const at::Tensor& parameter : parameters) all += bytesOf(parameter);
  std::vector<at::Tensor> share;
  std::int64_t before = 0;
  for (const at::Tensor& parameter : parameters) {
    const std::int64_t twiceMiddle = 2 * before + bytesOf(parameter);
    const std::int64_t its =
        all == 0 ? 0 : std::min<std::int64_t>(twiceMiddle * of / (2 * all), of - 1);
    if (its == number) share.push_back(parameter);
    before += bytesOf(parameter);
  }
  return share;
}

}  // namespace

void StageSums::addStage(int stage, std::vector<at::Tensor> parameters, Loss loss,
                         std::vector<std::size_t> ofBlocks) {
  std::reverse(parameters.begin(), parameters.end());
  stages_[stage] = {.parameters = std::move(parameters),
                    .loss = std::move(loss),
                    .ofBlocks = std::move(ofBlocks)};
}

std::vector<at::Tensor> StageSums::parametersOf(const Stage& stage, const GradientBucket& bucket) {
  if (!bucket.isOfPart) return shareOf(stage.parameters, bucket.number, bucket.of);
  const std::vector<std::size_t>& blocks = stage.ofBlocks;
  const auto [first, end] = blocksOfPart(static_cast<int>(blocks.size()), bucket.number, bucket.of);
  const auto behind = [&](int block) {
    return std::accumulate(blocks.begin() + block, blocks.end(), std::ptrdiff_t{0});
  };
  return {stage.parameters.begin() + behind(end), stage.parameters.begin() + behind(first)};
}

StageSums::Layout StageSums::makeLayout(const Stage& stage, const GradientBucket& bucket) {
  Layout layout{.hasLoss = bucket.number == 0 && static_cast<bool>(stage.loss.take),
                .parameters = parametersOf(stage, bucket)};
  const auto add = [&](std::int64_t size, at::ScalarType type) {
    layout.parts.push_back({.first = layout.size, .size = size, .type = type});
    layout.size += inUnits(size);
  };
  if (layout.hasLoss) add(sizeof(double), at::kDouble);
  add(static_cast<std::int64_t>(layout.parameters.size()), at::kByte);
  for (const at::Tensor& parameter : layout.parameters) {
    add(bytesOf(parameter), parameter.scalar_type());
  }
  return layout;
}

const StageSums::Layout& StageSums::layoutOf(const GradientBucket& bucket) {
  const std::tuple place(bucket.stage, bucket.number, bucket.of, bucket.isOfPart);
  const auto found = layouts_.find(place);
  if (found != layouts_.end()) return found->second;
  return layouts_[place] = makeLayout(stages_.at(bucket.stage), bucket);
}

at::Tensor StageSums::view(const at::Tensor& bytes, const Layout::Part& part) {
  return bytes.narrow(0, part.first, part.size).view(part.type);
}

/// Optimizers call detach_() of gradients, which is not for views that autograd knows as such.
at::Tensor StageSums::gradientIn(const at::Tensor& bytes, const Layout& layout,
                                 std::size_t parameter) {
  const at::AutoDispatchBelowADInplaceOrView unknown;
  return view(bytes, layout.parts[layout.gradient(parameter)])
      .view(layout.parameters[parameter].sizes());
}

at::Tensor StageSums::fill(const GradientBucket& bucket) {
  const at::NoGradGuard noGrad;
  const Layout& layout = layoutOf(bucket);
  const Stage& stage = stages_.at(bucket.stage);
  const at::Tensor loss = layout.hasLoss ? stage.loss.take() : at::Tensor();
  const at::Device device = !stage.parameters.empty() ? stage.parameters.front().device()
                            : loss.defined()          ? loss.device()
                                                      : at::Device(at::kCPU);
  Filled filled{.bytes = at::empty({layout.size}, at::TensorOptions(at::kByte).device(device))};
  // The gaps travel, too.
  for (const Layout::Part& part : layout.parts) {
    const std::int64_t end = part.first + part.size;
    if (inUnits(end) != end) filled.bytes.narrow(0, end, inUnits(end) - end).zero_();
  }
  if (layout.hasLoss) {
    const at::Tensor place = view(filled.bytes, layout.parts[0]).squeeze(0);
    loss.defined() ? place.copy_(loss) : place.zero_();
  }
  const at::Tensor there = view(filled.bytes, layout.parts[layout.there()]);
  there.fill_(1);
  for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
    const at::Tensor& parameter = layout.parameters[i];
    const at::Tensor own = gradientIn(filled.bytes, layout, i);
    at::Tensor& gradient = at::Tensor(parameter).mutable_grad();
    if (gradient.defined()) {
      own.copy_(gradient);
      gradient = own;
      continue;
    }
    own.fill_(-0.0);  // to which any number may be added without a change, 0 and -0, too
    there[static_cast<std::int64_t>(i)].zero_();
    filled.lacksSome = true;
  }
  return (filled_[{bucket.stage, bucket.number}] = std::move(filled)).bytes;
}

at::Tensor StageSums::addUp(const GradientBucket& bucket, std::int64_t first,
                            const std::vector<at::Tensor>& parts) {
  const at::NoGradGuard noGrad;
  at::Tensor sum = at::empty_like(parts.front());
  const std::int64_t end = first + sum.numel();
  const Layout& layout = layoutOf(bucket);
  for (std::size_t i = 0; i < layout.parts.size();) {
    // Numbers of one type that follow each other are added at once, with the gaps between them.
    const std::int64_t from = std::max(layout.parts[i].first, first);
    const at::ScalarType type = layout.parts[i].type;
    for (++i; i < layout.parts.size() && layout.parts[i].type == type;) ++i;
    const std::int64_t to =
        std::min(i < layout.parts.size() ? layout.parts[i].first : layout.size, end);
    if (from >= to) continue;
    const Layout::Part run{.first = from - first, .size = to - from, .type = type};
    at::Tensor its = view(sum, run);
    for (std::size_t part = 1; part < parts.size(); ++part) {
      const at::Tensor before = part == 1 ? view(parts[0], run) : its;
      const at::Tensor other = view(parts[part], run);
      if (type == at::kByte) {
        at::bitwise_or_out(its, before, other);
      } else {
        at::add_out(its, before, other);
      }
    }
  }
  return sum;
}

void StageSums::summed(const GradientBucket& bucket) {
  const at::NoGradGuard noGrad;
  const Layout& layout = layoutOf(bucket);
  const Filled filled = std::move(filled_.extract({bucket.stage, bucket.number}).mapped());
  if (layout.hasLoss) {
    stages_.at(bucket.stage).loss.give(view(filled.bytes, layout.parts[0]).squeeze(0).clone());
  }
  if (!filled.lacksSome) return;
  const at::Tensor there = view(filled.bytes, layout.parts[layout.there()]).cpu();
  for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
    at::Tensor& gradient = at::Tensor(layout.parameters[i]).mutable_grad();
    const bool isThere = there[static_cast<std::int64_t>(i)].item<std::uint8_t>() != 0;
    if (gradient.defined() || !isThere) continue;
    gradient = gradientIn(filled.bytes, layout, i);
  }
}

}  // namespace pipetrace
