#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

namespace pipetrace {

/// Texts that stay where they are as long as the pool lives, each once. Thread-safe.
class TextPool {
 public:
  /// The pool's text of this content. Takes a lock, and allocates the first time.
  const char* text(std::string_view content) {
    const std::lock_guard lock(mutex_);
    return texts_.emplace(content).first->c_str();
  }

 private:
  std::mutex mutex_;
  std::unordered_set<std::string> texts_;  // whose elements do not move
};

}  // namespace pipetrace
