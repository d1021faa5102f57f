#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/sums/gradient_sums.h"

namespace pipetrace {

/// The gradients of a rank's stages in buckets. A bucket has the gradients of some parameters, each
/// in its own type, and a byte for each parameter that says whether it has one. Stages are cut from
/// their last parameter to the first, into buckets of about as many bytes. Where a stage has a
/// loss, it is in the first bucket, as a double. Buckets of parts are cut between blocks instead
/// (GradientBucket::isOfPart).
///
/// A gradient that no rank has stays away, so that optimizers leave its parameter alone. To see
/// that, a rank that lacks some itself waits for its device.
class StageSums : public GradientBuckets {
 public:
  /// The loss of a stage that goes into a bucket, a double on the parameters' device (undefined:
  /// 0); and what becomes of the sum.
  struct Loss {
    std::function<at::Tensor()> take;
    std::function<void(at::Tensor sum)> give;
  };

  /// Adds a stage. `loss`: empty functions where it has none. `ofBlocks`: how many of the
  /// parameters each of its blocks has, for buckets of parts.
  void addStage(int stage, std::vector<at::Tensor> parameters, Loss loss,
                std::vector<std::size_t> ofBlocks = {});

  at::Tensor fill(const GradientBucket& bucket) override;
  at::Tensor addUp(const GradientBucket& bucket, std::int64_t first,
                   const std::vector<at::Tensor>& parts) override;
  void summed(const GradientBucket& bucket) override;

 private:
  struct Stage {
    std::vector<at::Tensor> parameters;  // from the last to the first
    Loss loss;
    std::vector<std::size_t> ofBlocks;
  };
  /// Where a bucket has its parts, in bytes.
  struct Layout {
    struct Part {
      std::int64_t first = 0;
      std::int64_t size = 0;
      at::ScalarType type = at::kByte;
    };
    bool hasLoss = false;
    std::vector<Part> parts;             // the loss, the bytes that say what is there, gradients
    std::vector<at::Tensor> parameters;  // of the gradients
    std::int64_t size = 0;

    std::size_t there() const { return hasLoss ? 1 : 0; }
    std::size_t gradient(std::size_t parameter) const { return there() + 1 + parameter; }
  };
  /// A bucket that was filled.
  struct Filled {
    at::Tensor bytes;
    bool lacksSome = false;
  };

  const Layout& layoutOf(const GradientBucket& bucket);
  static std::vector<at::Tensor> parametersOf(const Stage& stage, const GradientBucket& bucket);
  static Layout makeLayout(const Stage& stage, const GradientBucket& bucket);
  static at::Tensor view(const at::Tensor& bytes, const Layout::Part& part);
  static at::Tensor gradientIn(const at::Tensor& bytes, const Layout& layout,
                               std::size_t parameter);

  std::map<int, Stage> stages_;
  std::map<std::tuple<int, int, int, bool>, Layout> layouts_;  // by all numbers of the bucket
  std::map<std::pair<int, int>, Filled> filled_;
};

}  // namespace pipetrace
