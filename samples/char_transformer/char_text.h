#pragma once

#include <cstdint>
#include <string>

#include "runtime/train/data/data_loader.h"

namespace pipetrace {

/// A text as numbers, one per distinct byte in the order of the bytes.
class CharText {
 public:
  /// Throws Error if the file cannot be read.
  explicit CharText(const std::string& path);

  std::int64_t vocabulary() const { return vocabulary_; }
  std::int64_t length() const { return numbers_.size(0); }

  /// `rows` windows of `context` characters at random places, and as targets the same windows one
  /// character further on. The same for the same seed and step. Throws Error if the text is shorter
  /// than one window and the character after it.
  Batch windows(std::uint64_t seed, int step, std::int64_t rows, std::int64_t context) const;

 private:
  std::string path_;
  std::int64_t vocabulary_ = 0;
  at::Tensor numbers_;
};

}  // namespace pipetrace
