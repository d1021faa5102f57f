#pragma once

#include "trace/log/ring_format.h"

namespace pipetrace {

/// Keeps the texts that records name by address in the ring file, as addresses mean nothing once
/// the process is gone. Not thread-safe.
class RingTexts {
 public:
  /// `places`: ring_format::kTexts of them, zeroed. They must outlive the table.
  explicit RingTexts(ring_format::Text* places) : places_(places) {}

  /// Notes that from now on this text is at `address`. Null is left out, and so is a text that no
  /// longer fits into the table.
  void note(const char* address) noexcept;

 private:
  ring_format::Text* const places_;
  std::size_t used_ = 0;
};

}  // namespace pipetrace
