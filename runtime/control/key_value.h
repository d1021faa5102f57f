#pragma once

#include <string>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// Where ranks leave their addresses for each other, such as LibTorch's TCPStore.
class KeyValue {
 public:
  virtual ~KeyValue() = default;

  virtual void set(const std::string& key, const std::string& value) = 0;

  /// Waits for the value. Throws Error if nobody has set it within `timeout`.
  virtual std::string get(const std::string& key, Nanoseconds timeout) = 0;
};

}  // namespace pipetrace
