#pragma once

#include <cstddef>
#include <future>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/files/output_file.h"

namespace pipetrace {

/// Room to write bytes into by pointer, handed on to a file in large pieces.
class PacketBuffer {
 public:
  /// `besides`: another thread writes what has been handed on; `out` is its own until finish().
  PacketBuffer(OutputFile& out, bool besides) : out_(out), besides_(besides), bytes_(kChunk) {}
  PacketBuffer(const PacketBuffer&) = delete;
  PacketBuffer& operator=(const PacketBuffer&) = delete;

  /// Where at least `size` bytes can be written; tell used() the end of what was.
  char* room(std::size_t size) {
    if (used_ + size > bytes_.size()) {
      flush();
      if (size > bytes_.size()) bytes_.resize(size);
    }
    return bytes_.data() + used_;
  }
  void used(const char* end) { used_ = static_cast<std::size_t>(end - bytes_.data()); }

  /// All of it has been written afterwards. Throws what writing threw, as room() may.
  void finish() {
    flush();
    if (writing_.valid()) writing_.get();
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 19;

  void flush() {
    const std::size_t size = std::exchange(used_, 0);
    if (!besides_) return out_.write({bytes_.data(), size});
    if (writing_.valid()) writing_.get();
    handedOn_.resize(bytes_.size());
    bytes_.swap(handedOn_);
    // With both policies it is written by the next call where no thread can be started.
    writing_ = std::async(std::launch::async | std::launch::deferred, [this, size] {
      out_.write({handedOn_.data(), size});
    });
  }

  OutputFile& out_;
  bool besides_;
  std::vector<char> bytes_;
  std::size_t used_ = 0;
  std::vector<char> handedOn_;  // what is being written
  std::future<void> writing_;   // last: it ends before what it uses
};

}  // namespace pipetrace
