#pragma once

#include <cstddef>
#include <future>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/files/output_file.h"

namespace pipetrace {

/// A buffer to write bytes into by pointer, which goes to a file in large pieces.
class PacketBuffer {
 public:
  /// `besides`: another thread writes the pieces, and only that thread uses `out` until finish().
  PacketBuffer(OutputFile& out, bool besides) : out_(out), besides_(besides), bytes_(kChunk) {}
  PacketBuffer(const PacketBuffer&) = delete;
  PacketBuffer& operator=(const PacketBuffer&) = delete;

  /// A place where at least `size` bytes can be written. Then call used() with the end of what was.
  char* room(std::size_t size) {
    if (used_ + size > bytes_.size()) {
      flush();
      if (size > bytes_.size()) bytes_.resize(size);
    }
    return bytes_.data() + used_;
  }
  void used(const char* end) { used_ = static_cast<std::size_t>(end - bytes_.data()); }

  /// Writes the rest; returns when everything has been written. Throws what writing threw, as
  /// room() may.
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
    // With both policies, the next call writes it where no thread can be started.
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
