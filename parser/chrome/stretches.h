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

/// Hands out a Chrome trace to several threads, stretch by stretch: each thread takes one, reads
/// it, waits until those before it are settled, and settles it.
///
/// Where a stretch ends is a guess at where an element begins. If the reader of the stretch comes
/// to that place the guess was right, as the begin of the stretch was by then known to be one. Else
/// the stretch ends where its reader stopped, and what was handed out behind that place is void and
/// comes again. So the elements are the same however many threads there are, and they are those of
/// a JsonSplitter.
class ChromeStretches {
 public:
  struct Stretch {
    std::int64_t number = 0;  ///< from 0, in the order of the input
    std::string text;  ///< elements, with what is between them; empty: they were handed to `use`
    std::int64_t line = 0;  ///< of the begin of the text
    std::uint64_t end = 0;  ///< so many bytes of the input are in it and before it, about
    bool isVoid = false;
  };

  /// What cannot be handed on as a text is handed piece by piece to such a function, which must not
  /// call anything here.
  using Use = std::function<void(const JsonSplitter::Piece&)>;

  /// Stretches are of about `size` bytes. 0: everything comes piece by piece. `splitter` must
  /// outlive it.
  ChromeStretches(JsonSplitter& splitter, std::size_t size) : splitter_(splitter), size_(size) {}

  /// False at the end of the input, and when another thread has given up. A stretch is settled, and
  /// lives on where it is, before its thread takes another one.
  bool next(Stretch& stretch, const Use& use);

  /// `read`: so many bytes of its text are whole elements. False: nothing in it counts. In the
  /// order of the numbers.
  bool settle(Stretch& stretch, std::size_t read);

  /// Call it instead of settle() when something has failed: nobody waits for this thread any more.
  void giveUp();

 private:
  bool takePieces(Stretch& stretch, const Use& use);

  JsonSplitter& splitter_;
  const std::size_t size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Stretch*> open_;  // handed out as texts and not settled
  std::int64_t next_ = 0;
  std::size_t inPieces_ = 0;  // so many bytes more come piece by piece
  bool ended_ = false;
};

}  // namespace pipetrace
