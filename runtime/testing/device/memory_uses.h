#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/testing/device/actors.h"

namespace pipetrace::test_device {

enum class Use { kRead, kWrite };

/// A use of memory: which operation used it, and as which tensor. Its actor is kNobody where nobody
/// used it, or all that did is known to be completed.
struct Access : Operation {
  c10::ScalarType type = c10::ScalarType::Undefined;
  c10::SmallVector<std::int64_t, 4> sizes;
};

Access accessOf(const at::Tensor& tensor, const Operation& operation);

/// The uses of bytes that were always used together.
struct RangeUses {
  Access write;
  std::vector<Access> reads;  ///< since then; the last one of each actor
  bool isSet = false;         ///< someone wrote; else `write` is the allocation
};

/// The uses of a block of memory, by bytes.
class MemoryUses {
 public:
  MemoryUses(std::size_t bytes, RangeUses all);

  /// Adds a use. Says what is wrong with it: in the findings of the device's state, under its lock.
  void add(const at::Tensor& tensor, Use use, const Operation& operation);
  /// Everything counts as completed. Bytes that nobody has written stay so.
  void forgetAccesses();
  /// Bytes that are new are in the state of the last one before.
  void resize(std::size_t bytes);
  /// Calls `visit` for the last write and the reads since, of each range.
  template <typename Visit>
  void visitAccesses(Visit visit) const {
    for (const auto& [begin, range] : ranges_) {
      visit(range.write, Use::kWrite);
      for (const Access& read : range.reads) visit(read, Use::kRead);
    }
  }

 private:
  using Ranges = std::map<std::size_t, RangeUses>;

  /// Begins a range at a byte.
  Ranges::iterator cutAt(std::size_t byte);

  std::size_t bytes_;
  Ranges ranges_;  ///< by first byte; each ends where the next one begins
};

/// "aten::add [rank 1 forward 0] on test:0 stream 2"
std::string toText(const Operation& operation);
/// "Float [2, 4]"
std::string toText(c10::ScalarType type, c10::IntArrayRef sizes);

}  // namespace pipetrace::test_device
