#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "parser/chrome_event.h"
#include "parser/chrome_reading.h"
#include "parser/json_splitter.h"

namespace pipetrace {

/// Pieces of a Chrome trace that follow each other, taken apart, with texts of their own: while one
/// thread looks at them another can take the next ones.
class ChromeBatch {
 public:
  explicit ChromeBatch(ChromeReading reading);
  ChromeBatch(const ChromeBatch&) = delete;
  ChromeBatch& operator=(const ChromeBatch&) = delete;

  enum class Kind : std::uint8_t {
    kEvent,
    kNoEvent,  ///< an element that is no JSON object
    kField,    ///< of the top-level object, as JsonSplitter hands them on
  };

  struct Piece {
    Kind kind = Kind::kEvent;
    const ChromeEvent* event = nullptr;
    std::string_view key;
    std::string_view text;
    std::int64_t line = 0;
  };

  /// Takes the next pieces in place of the ones it held; false at the end of the input.
  bool fill(JsonSplitter& splitter);

  /// In the order of the input. They hold until the next fill().
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  bool isFull() const;
  void takePlain(JsonSplitter& splitter);
  std::size_t takePlainOf(JsonSplitter& splitter, std::size_t size);
  bool takeAny(JsonSplitter& splitter);
  std::string_view keep(std::string_view text);

  const ChromeReading reading_;
  std::vector<Piece> pieces_;
  std::vector<ChromeEvent> events_;  // never longer than at first: pieces point to them
  std::size_t usedEvents_ = 0;
  std::vector<char> text_;  // the texts of plain events; stays where it is, too
  std::size_t usedText_ = 0;
  std::deque<std::string> kept_;  // those of all other pieces ...
  std::size_t keptBytes_ = 0;     // ... together
};

}  // namespace pipetrace
