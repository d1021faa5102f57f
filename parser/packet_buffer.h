#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "trace/output_file.h"

namespace pipetrace {

/// Room to write bytes into by pointer, handed on to a file in large pieces.
class PacketBuffer {
 public:
  explicit PacketBuffer(OutputFile& out) : out_(out), bytes_(kChunk) {}

  /// Where at least `size` bytes can be written; tell used() the end of what was.
  char* room(std::size_t size) {
    if (used_ + size > bytes_.size()) {
      flush();
      if (size > bytes_.size()) bytes_.resize(size);
    }
    return bytes_.data() + used_;
  }
  void used(const char* end) { used_ = static_cast<std::size_t>(end - bytes_.data()); }

  void flush() {
    out_.write({bytes_.data(), used_});
    used_ = 0;
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 17;

  OutputFile& out_;
  std::vector<char> bytes_;
  std::size_t used_ = 0;
};

}  // namespace pipetrace
