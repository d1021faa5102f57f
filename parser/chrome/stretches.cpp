#include "parser/chrome/stretches.h"

#include <algorithm>

namespace pipetrace {

bool ChromeStretches::next(Stretch& stretch, const Use& use) {
  std::unique_lock lock(mutex_);
  stretch.text.clear();
  stretch.isVoid = false;
  while (!ended_) {
    if (size_ > 0 && inPieces_ == 0 && splitter_.takeStretch(stretch.text, stretch.line, size_)) {
      stretch.number = next_++;
      stretch.end = splitter_.taken();
      open_.push_back(&stretch);
      return true;
    }
    // Pieces cannot be put back.
    if (open_.empty()) return takePieces(stretch, use);
    changed_.wait(lock);
  }
  return false;
}

bool ChromeStretches::takePieces(Stretch& stretch, const Use& use) {
  // Trying a guess in vain costs as much as a stretch.
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
  stretch.end = splitter_.taken();
  if (!isEmpty) stretch.number = next_++;
  return !isEmpty;
}

bool ChromeStretches::settle(Stretch& stretch, std::size_t read) {
  if (stretch.text.empty()) return true;
  const std::lock_guard lock(mutex_);
  if (stretch.isVoid) return false;
  std::erase(open_, &stretch);
  if (read < stretch.text.size()) {
    std::string back = stretch.text.substr(read);
    for (Stretch* later : open_) {
      back += later->text;
      later->isVoid = true;
    }
    open_.clear();
    const auto lines = std::count(stretch.text.begin(),
                                  stretch.text.begin() + static_cast<std::ptrdiff_t>(read), '\n');
    splitter_.putBack(back, stretch.line + lines);
    inPieces_ = size_;
  }
  changed_.notify_all();
  return true;
}

void ChromeStretches::giveUp() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  open_.clear();
  changed_.notify_all();
}

}  // namespace pipetrace
