#include "parser/chrome/blocks.h"

#include <algorithm>

namespace pipetrace {

bool ChromeBlocks::next(Block& block, const Use& use) {
  std::unique_lock lock(mutex_);
  block.text.clear();
  block.isVoid = false;
  while (!ended_) {
    if (size_ > 0 && inPieces_ == 0 && splitter_.takeBlock(block.text, block.line, size_)) {
      block.number = next_++;
      block.end = splitter_.taken();
      open_.push_back(&block);
      return true;
    }
    // Pieces cannot be put back.
    if (open_.empty()) return takePieces(block, use);
    changed_.wait(lock);
  }
  return false;
}

bool ChromeBlocks::takePieces(Block& block, const Use& use) {
  // A guess in vain costs as much time as a block.
  if (inPieces_ == 0) inPieces_ = std::max<std::size_t>(size_, 1);
  const bool wasInArray = splitter_.isInArray();
  bool isEmpty = true;
  JsonSplitter::Piece piece;
  for (std::size_t bytes = 0; bytes < std::max<std::size_t>(size_, 1);) {
    if (!splitter_.next(piece)) {
      ended_ = true;
      changed_.notify_all();
      break;
    }
    isEmpty = false;
    use(piece);
    bytes += piece.text.size() + 1;
    inPieces_ -= std::min(inPieces_, piece.text.size() + 1);
    if (!wasInArray) {
      inPieces_ = 0;
      break;
    }
  }
  block.end = splitter_.taken();
  if (!isEmpty) block.number = next_++;
  return !isEmpty;
}

bool ChromeBlocks::settle(Block& block, std::size_t read) {
  if (block.text.empty()) return true;
  const std::lock_guard lock(mutex_);
  if (block.isVoid) return false;
  std::erase(open_, &block);
  if (read < block.text.size()) {
    std::string back = block.text.substr(read);
    for (Block* later : open_) {
      back += later->text;
      later->isVoid = true;
    }
    open_.clear();
    const auto lines = std::count(block.text.begin(),
                                  block.text.begin() + static_cast<std::ptrdiff_t>(read), '\n');
    splitter_.putBack(back, block.line + lines);
    inPieces_ = size_;
  }
  changed_.notify_all();
  return true;
}

void ChromeBlocks::giveUp() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  open_.clear();
  changed_.notify_all();
}

}  // namespace pipetrace
