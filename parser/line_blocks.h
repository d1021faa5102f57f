#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "parser/byte_source.h"

namespace pipetrace {

/// Cuts an input into blocks of whole lines, each of which can be read without the others. Several
/// threads may take blocks at once; of a plain file they read at once, too.
///
/// In a plain file a line belongs to the block in whose part of the file it begins. `s` is the
/// usual size of a block, `|` ends a line:
///
///              0       s       2s      3s      4s
///     file     aaaa|bbbbbb|cc|ddddddddddddd|ee|
///     block 0  aaaa|bbbbbb|
///     block 1              cc|ddddddddddddd|
///     block 2                                        empty: no line begins in [2s, 3s)
///     block 3                               ee|
///
/// A stream is read by one thread at a time. The start of a line that it has not read to its end is
/// carried over to the next block:
///
///     read     aaaa|bbbb        bb|cc|ddddd              dddddddd|ee|
///     block 0  aaaa|            block 1  bbbbbb|cc|      block 2  ddddddddddddd|ee|
///     carried       bbbb                           ddddd
class LineBlocks {
 public:
  /// Longer lines are no lines of a log and are left out.
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;
  /// Small enough that a block is still in its core's cache when it has been read.
  static constexpr std::size_t kUsualSize = std::size_t{1} << 18;

  struct Block {
    std::int64_t number = 0;  ///< blocks are counted from 0 in the order of the input
    /// Empty, or whole lines with their ends; only at the end of the input the last may lack its
    /// own. Holds until the next call of next() with this block.
    std::string_view text;
    bool tooLong = false;  ///< after `text` there was one line that is too long
    double upTo = 0;  ///< which part of the input this block and those before it are; 0: not known
    std::vector<char> own;  ///< the bytes, to be used again
  };

  /// `source` must outlive it. Blocks are of about `usualSize` bytes, which is far below
  /// kLongestLine.
  explicit LineBlocks(ByteSource& source, std::size_t usualSize = kUsualSize);
  /// The same for the bytes [from, to) of an input that has a plainSize(). A line must begin at
  /// `from`.
  LineBlocks(ByteSource& source, std::size_t from, std::size_t to,
             std::size_t usualSize = kUsualSize);

  /// The next block; false at the end. Throws Error when the input cannot be read.
  bool next(Block& block);

 private:
  bool nextOfFile(Block& block);
  bool nextOfStream(Block& block);
  bool readUpTo(Block& block, std::size_t offset, std::size_t& held, std::size_t wanted);
  bool skipLongLine();

  ByteSource& source_;
  const std::size_t usualSize_;
  std::size_t begin_ = 0;              // in a plain file, of what is read
  std::size_t fileSize_ = 0;           // ... and its size
  bool isFile_ = false;                // ... which it is
  std::atomic<std::int64_t> next_{0};  // block of the file
  std::mutex mutex_;                   // for what follows
  std::vector<char> carried_;          // the start of the line that the latest block did not hold
  std::int64_t nextOfStream_ = 0;
  bool ended_ = false;
};

}  // namespace pipetrace
