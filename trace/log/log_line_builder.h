#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "trace/event.h"
#include "trace/log/job_details.h"
#include "trace/log/log_format.h"
#include "trace/log/log_writer.h"
#include "trace/text/decimal_digits.h"
#include "trace/text/in_place_text.h"
#include "trace/text/millisecond_printer.h"

namespace pipetrace {

/// Characters that are made at compile time. A copy takes all their room: a copy of fixed size
/// costs two instructions.
template <std::size_t kSize>
struct LogPieceOf {
  static constexpr std::size_t kRoom = kSize;

  constexpr LogPieceOf(std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) {
      for (const char c : part) text.at(size++) = c;
    }
  }
  std::array<char, kRoom> text{};
  std::size_t size = 0;
};
using LogPiece = LogPieceOf<32>;

/// The piece ", key = ".
template <const std::string_view& kName>
inline constexpr LogPiece kLogKey{{", ", kName, " = "}};

/// A line of the job log: prefix, mark, and `key = value` pairs with ", " between them.
class LogLineBuilder {
 public:
  static constexpr std::size_t kPrefixRoom = 64;
  static constexpr std::size_t kKeptRoom = 64;

  /// kPrefixRoom characters can be read from `prefix` on, however short it is. All arguments but
  /// `mark` must outlive the line.
  LogLineBuilder(InPlaceText& out, MillisecondPrinter& times, std::string_view prefix,
                 const LogPiece& mark)
      : out_(out), times_(times) {
    static_assert(kRoom > kPrefixRoom + 2 * LogPiece::kRoom);
    std::memcpy(at_, prefix.data(), kPrefixRoom);
    at_ += prefix.size();
    put(mark, 0);
  }

  [[gnu::always_inline]] void number(const LogPiece& key, std::int64_t value) {
    begin(key);
    at_ = printNumber(at_, value);
  }
  [[gnu::always_inline]] void givenNumber(const LogPiece& key, std::int64_t value) {
    if (value != kNotGiven) number(key, value);
  }
  [[gnu::always_inline]] void time(const LogPiece& key, Nanoseconds value) {
    begin(key);
    at_ = times_.print(at_, value);
  }
  /// Appends pairs that were made earlier, each with the ", " before it, or a mark and the first
  /// pair. kKeptRoom characters can be read from `pairs` on, however few they are.
  [[gnu::always_inline]] void kept(const char* pairs, std::size_t size) {
    static_assert(LogPiece::kRoom + kValueRoom >= kKeptRoom);
    makeRoom();
    skipComma_ = 0;
    if (size > kKeptRoom) [[unlikely]]
      return putLong({pairs, size});
    std::memcpy(at_, pairs, kKeptRoom);
    at_ += size;
  }
  /// Appends the value of a key that kept() appended.
  [[gnu::always_inline]] void keptNumber(ShortNumber number) {
    makeRoom();
    at_ = putCharacters(at_, number.characters, number.count);
  }
  [[gnu::always_inline]] void number(const LogPiece& key, CountingNumber& how, std::int64_t value) {
    begin(key);
    at_ = how.print(at_, value);
  }
  void text(const LogPiece& key, std::string_view value) {
    begin(key);
    if (!putPlain(value)) putOther(value);
  }
  void givenText(const LogPiece& key, std::string_view value) {
    if (!value.empty()) text(key, value);
  }
  void givenDetails(const JobDetails& details) {
    visitJobDetails([&]<typename Detail>(Detail, auto field) {
      givenNumber(kLogKey<Detail::kKey>, field(details));
    });
  }
  template <typename Number>
  void given(const LogPiece& key, const std::optional<Number>& value) {
    if (value) shortest(key, *value);
  }
  /// Appends the fewest digits that read back to the same number.
  template <typename Number>
  void shortest(const LogPiece& key, Number value) {
    begin(key);
    at_ = std::to_chars(at_, at_ + kValueRoom, value).ptr;
  }
  /// Appends the number and bracket of `Job (n)`. No other value stands without a key.
  void inBrackets(std::int64_t number) {
    makeRoom();
    at_ = printNumber(at_, number);
    closeBracket();
  }
  [[gnu::always_inline]] void inBrackets(ShortNumber number) {
    keptNumber(number);
    closeBracket();
  }
  void endLine() {
    makeRoom();
    *at_++ = '\n';
    out_.endAt(at_);
  }

  /// Whether `c` needs no quotes.
  static constexpr bool isBare(char c) { return kBare[static_cast<unsigned char>(c)]; }

 private:
  [[gnu::always_inline]] void closeBracket() {
    *at_++ = ')';
    skipComma_ = 0;
  }

  static constexpr std::size_t kValueRoom = 64;
  static constexpr std::array<bool, 256> kBare = [] {
    std::array<bool, 256> bare{};
    for (const char c : std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789_.+:/-")) {
      bare[static_cast<unsigned char>(c)] = true;
    }
    return bare;
  }();

  /// Appends the key and leaves room for a value.
  [[gnu::always_inline]] void begin(const LogPiece& key) {
    makeRoom();
    put(key, skipComma_);
    skipComma_ = 0;
  }
  [[gnu::always_inline]] void put(const LogPiece& piece, std::size_t skipped) {
    std::memcpy(at_, piece.text.data() + skipped, LogPiece::kRoom - 2);
    at_ += piece.size - skipped;
  }
  /// Copies the value while it checks each character. False: the value needs quotes.
  [[gnu::always_inline]] bool putPlain(std::string_view value) {
    if (value.empty() || value.size() > kValueRoom) return false;
    bool isPlain = true;
    char* to = at_;
    for (const char c : value) {
      isPlain &= isBare(c);
      *to++ = c;
    }
    if (isPlain) at_ = to;
    return isPlain;
  }
  void putOther(std::string_view value) {
    std::string quoted;
    appendLogValue(quoted, value);
    putLong(quoted);
  }
  void putLong(std::string_view text) {
    out_.endAt(at_);
    at_ = std::copy(text.begin(), text.end(), out_.room(text.size() + kRoom));
    end_ = at_ + kRoom;
  }
  /// Makes room for a key and a value.
  [[gnu::always_inline]] void makeRoom() {
    if (static_cast<std::size_t>(end_ - at_) < LogPiece::kRoom + kValueRoom) [[unlikely]] {
      out_.endAt(at_);
      at_ = out_.room(kRoom);
      end_ = at_ + kRoom;
    }
  }

  static constexpr std::size_t kRoom = 512;

  InPlaceText& out_;
  MillisecondPrinter& times_;
  std::size_t skipComma_ = 2;  // the first pair has no comma before it
  char* at_ = out_.room(kRoom);
  const char* end_ = at_ + kRoom;
};

}  // namespace pipetrace
