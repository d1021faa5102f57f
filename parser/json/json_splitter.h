#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "parser/byte_source.h"

namespace pipetrace {

/// Finds the end of one JSON value, byte by byte.
class JsonValueScanner {
 public:
  enum class Result : std::uint8_t {
    kMore,         ///< the value goes on
    kEnded,        ///< this byte is its last
    kEndedBefore,  ///< it ended with the byte before (a number or a word)
    kBroken,       ///< brackets do not match, or a string runs over the end of its line
  };

  Result feed(char c);

 private:
  Result feedString(char c);

  std::string open_;  // the brackets still open, innermost last
  bool inString_ = false;
  bool escaped_ = false;
  bool started_ = false;
};

/// Cuts a long JSON array into its elements without reading it as a whole. The array is at the top
/// level, or a field of a top-level object; other fields of that object are handed out by name. It
/// knows only brackets and strings; the caller finds out whether a piece is good JSON.
///
/// An element whose brackets or quotes do not close is lost alone. Cutting goes on at the next line
/// that begins as an element or the array's end does.
class JsonSplitter {
 public:
  /// Larger elements are no events.
  static constexpr std::size_t kLargestPiece = std::size_t{16} << 20;

  enum class Kind : std::uint8_t {
    kEvent,   ///< an element of the array
    kField,   ///< `key` and its value, of fields that are wanted
    kBroken,  ///< an element that could not be cut out; `text` is empty
  };

  struct Piece {
    Kind kind = Kind::kEvent;
    std::string_view key;
    std::string_view text;  ///< holds until the next call of next()
    std::int64_t line = 0;  ///< where it begins, from 1
  };

  /// The fields of a top-level object that are looked for.
  struct Fields {
    std::string_view array;                            ///< the key of the array
    bool (*isWanted)(std::string_view key) = nullptr;  ///< of the other fields
    bool isBareList = false;  ///< the input is the elements alone, without the array's brackets
  };

  /// `source`, and the text in `fields`, must outlive the splitter.
  JsonSplitter(ByteSource& source, const Fields& fields) : source_(source), fields_(fields) {}

  bool next(Piece& piece);

  /// Whether next() would give an element of the array, or the text after it.
  bool isInArray() const { return state_ == State::kArray; }

  /// Whether the field of the array held an object, whose fields were then taken for those of the
  /// top level.
  bool isNested() const { return isNested_; }

  /// The number of bytes of the input, decompressed, that have been taken.
  std::uint64_t taken() const { return read_ - (end_ - begin_); }

  /// Replaces `text` by several elements at once, without looking into them: about `size` bytes, up
  /// to where the next element seems to begin. The caller finds out whether it does; if not, it
  /// puts the rest back. `line`: where they begin. False, with nothing taken, outside the array and
  /// where no element seems to begin that soon.
  bool takeBlock(std::string& text, std::int64_t& line, std::size_t size);

  /// Puts bytes that were taken in front of the next ones. `line`: where they begin.
  void putBack(std::string_view text, std::int64_t line);

  /// After next() was false: whether the input ended before its brackets closed. An array form
  /// without its last bracket is whole, as the format allows that.
  bool cutOff() const { return cutOff_; }

  /// Whether it ended inside an element, which then was not handed out.
  bool cutInElement() const { return cutInElement_; }

 private:
  enum class State : std::uint8_t { kStart, kObject, kArray, kDone };

  bool fill();
  bool peekChar(char& c);
  void consume(std::size_t n);
  void skipBlanks(bool commas);
  JsonValueScanner::Result scan(std::size_t& length, bool keep);
  bool nextElement(Piece& piece);
  bool nextField(Piece& piece);
  bool takeKey();
  void skipBrokenElement(std::size_t scanned);
  bool skipToElement();
  bool stopHere(bool wasCutOff);

  ByteSource& source_;
  const Fields fields_;
  std::string buffer_;
  std::size_t begin_ = 0;   // start of the text that has not been handed out
  std::size_t end_ = 0;     // end of the text that has been read
  std::uint64_t read_ = 0;  // from the source
  std::int64_t line_ = 1;   // of begin_
  State state_ = State::kStart;
  bool inObject_ = false;  // the array is a field of an object
  bool isNested_ = false;
  bool cutOff_ = false;
  bool cutInElement_ = false;
  std::size_t handedOn_ = 0;  // length of the piece that the caller still looks at
  std::string key_;
  std::uint64_t lookedAtTwice_ = 0;
};

}  // namespace pipetrace
