#pragma once

#include <cstdint>
#include <string>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// Where ranks leave words for each other while they come together, such as LibTorch's TCPStore.
/// All functions throw Error if it cannot be reached.
class KeyValue {
 public:
  virtual ~KeyValue() = default;

  virtual void set(const std::string& key, const std::string& value) = 0;
  /// Sets the value unless there is one. Returns the one that there is then.
  virtual std::string setOnce(const std::string& key, const std::string& value) = 0;
  /// Counts one more, from 1.
  virtual std::int64_t count(const std::string& key) = 0;
  virtual bool has(const std::string& key) = 0;
  /// Waits for the value. Throws Error if nobody has set it within `timeout`.
  virtual std::string get(const std::string& key, Nanoseconds timeout) = 0;
};

}  // namespace pipetrace
