#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace pipetrace {

/// The element type and the sizes of a message's tensor, without the library that has the tensor.
struct TensorShape {
  static constexpr int kMaxDimensions = 8;
  static constexpr std::int64_t kNoTensor = -1;

  std::int64_t type = kNoTensor;  ///< the tensor library's number of it
  std::int64_t dimensions = 0;
  std::array<std::int64_t, kMaxDimensions> sizes{};

  bool operator==(const TensorShape&) const = default;
};

/// "3 × 128", "a single number", "no tensor".
std::string toText(const TensorShape& shape);

/// Why a message of this shape cannot follow one of the shape `first` on the same lane to the same
/// stage; empty: it can. Type and number of dimensions stay the same; sizes may differ from
/// micro-batch to micro-batch.
std::string problemOf(const TensorShape& shape, const TensorShape& first);

}  // namespace pipetrace
