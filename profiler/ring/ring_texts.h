#pragma once

#include "trace/log/ring_format.h"

namespace pipetrace {

/// Keeps, in a ring file, the texts at addresses that its records name, as those addresses mean
/// nothing once the process is gone. Not thread-safe.
class RingTexts {
 public:
  /// `places`: ring_format::kTexts of them, zeroed. They must outlive the table.
  explicit RingTexts(ring_format::Text* places) : places_(places) {}

  /// The text at `address` is, from now on, this one. Null is left out; so is what no longer fits
  /// into the table.
  void note(const char* address) noexcept;

 private:
  ring_format::Text* const places_;
  std::size_t used_ = 0;
};

}  // namespace pipetrace
