#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>

#include "parser/json/json_splitter.h"

namespace pipetrace {

/// Hands out a Chrome trace to several threads, block by block. Each thread takes a block, reads
/// it, waits until the blocks before it are settled, and settles it.
///
/// The end of a block is a guess: a place where an element seems to begin. The guess was right if
/// the reader of the block comes to that place; by then the start of the block is known to be
/// right. Otherwise the block ends where its reader stopped, and the text handed out after that
/// place is void and is handed out again. So the elements are those of a JsonSplitter, however many
/// threads there are.
class ChromeBlocks {
 public:
  struct Block {
    std::int64_t number = 0;  ///< from 0, in the order of the input
    std::string
        text;  ///< elements and the separators between them; empty: they were handed to `use`
    std::int64_t line = 0;  ///< the line of the text's start
    std::uint64_t end = 0;  ///< about how many bytes of the input are in it and before it
    bool isVoid = false;
  };

  /// A function that gets, piece by piece, the elements that cannot be handed out as a text. It
  /// must not call anything here.
  using Use = std::function<void(const JsonSplitter::Piece&)>;

  /// Blocks have about `size` bytes. 0: everything is handed out piece by piece. `splitter` must
  /// outlive it.
  ChromeBlocks(JsonSplitter& splitter, std::size_t size) : splitter_(splitter), size_(size) {}

  /// Takes the next block; false at the end of the input, and when another thread has given up. A
  /// block must stay where it is until it is settled, which its thread does before it takes
  /// another.
  bool next(Block& block, const Use& use);

  /// Settles a block: the first `read` bytes of its text are whole elements. False: nothing in it
  /// counts. Call it in the order of the numbers.
  bool settle(Block& block, std::size_t read);

  /// Call it instead of settle() when something has failed: no thread waits for this one any more.
  void giveUp();

 private:
  bool takePieces(Block& block, const Use& use);

  JsonSplitter& splitter_;
  const std::size_t size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Block*> open_;  // handed out as texts and not settled
  std::int64_t next_ = 0;
  std::size_t inPieces_ = 0;  // how many bytes more come piece by piece
  bool ended_ = false;
};

}  // namespace pipetrace
