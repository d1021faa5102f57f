#include "parser/chrome/event.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "parser/json/json_string.h"
#include "parser/json/microseconds.h"
#include "trace/text/number_text.h"
#include "trace/text/utf8.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace pipetrace {
namespace {

/// The handler that nlohmann's parser calls for each token of one event.
class EventHandler {
 public:
  explicit EventHandler(ChromeEvent& event) : event_(event) {}

  bool start_object(std::size_t) { return open('{'); }
  bool start_array(std::size_t) { return open('['); }
  bool end_object() { return close('}'); }
  bool end_array() { return close(']'); }

  bool key(std::string& text) {
    if (depth_ > 2) {
      separate();
      appendJsonString(nested_, text);
      nested_ += ':';
      comma_ = false;
    } else if (depth_ == 2 && inArguments_) {
      argument_.key = event_.keep(text);
    } else if (depth_ == 1) {
      field_ = text;
    }
    return true;
  }

  bool null() { return word("null"); }
  bool boolean(bool value) { return word(value ? "true" : "false"); }
  bool binary(nlohmann::json::binary_t&) { return true; }  // JSON text has none

  bool number_integer(std::int64_t value) { return integer(value); }
  bool number_unsigned(std::uint64_t value) {
    if (value <= static_cast<std::uint64_t>(kNsMax)) {
      return integer(static_cast<std::int64_t>(value));
    }
    return number_float(static_cast<double>(value), std::to_string(value));
  }

  bool number_float(double value, const std::string& text) {
    if (depth_ == 0) return false;
    const std::string digits = numberWithPoint(text);
    if (depth_ > 2) return nestedWord(digits);
    if (isArgument()) {
      argument_.type = ChromeArgument::Type::kReal;
      argument_.real = value;
      keepArgument();
    } else if (depth_ == 1) {
      numberField(digits, std::nullopt);
    }
    return true;
  }

  bool string(std::string& text) {
    if (depth_ == 0) return false;
    if (depth_ > 2) {
      separate();
      appendJsonString(nested_, text);
    } else if (isArgument()) {
      argument_.type = ChromeArgument::Type::kText;
      argument_.text = event_.keep(text);
      keepArgument();
    } else if (depth_ == 1) {
      textField(text);
    }
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) {
    return false;
  }

 private:
  bool isArgument() const { return depth_ == 2 && inArguments_; }

  bool open(char bracket) {
    ++depth_;
    if (depth_ == 1) return bracket == '{';
    if (depth_ == 2) {
      inArguments_ = field_ == "args" && bracket == '{';
    } else {
      separate();
      nested_ += bracket;
      comma_ = false;
    }
    return true;
  }

  bool close(char bracket) {
    if (depth_ > 2) {
      nested_ += bracket;
      comma_ = true;
    }
    --depth_;
    if (isArgument() && !nested_.empty()) {
      argument_.type = ChromeArgument::Type::kText;
      argument_.text = event_.keep(nested_);
      keepArgument();
    }
    if (depth_ <= 2) {
      nested_.clear();
      comma_ = false;
    }
    return true;
  }

  void separate() {
    if (comma_) nested_ += ',';
    comma_ = true;
  }

  bool nestedWord(std::string_view text) {
    separate();
    nested_ += text;
    return true;
  }

  bool word(const char* text) {
    if (depth_ == 0) return false;
    if (depth_ > 2) return nestedWord(text);
    if (isArgument()) {
      argument_.type = ChromeArgument::Type::kText;
      argument_.text = text;
      keepArgument();
    } else if (depth_ == 1) {
      event_.arrow.takeWord(field_, text);
    }
    return true;
  }

  bool integer(std::int64_t value) {
    if (depth_ == 0) return false;
    std::array<char, 24> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    const std::string_view digits(text.data(), static_cast<std::size_t>(end - text.data()));
    if (depth_ > 2) return nestedWord(digits);
    if (isArgument()) {
      argument_.type = ChromeArgument::Type::kInteger;
      argument_.integer = value;
      keepArgument();
    } else if (depth_ == 1) {
      numberField(digits, value);
    }
    return true;
  }

  void numberField(std::string_view digits, std::optional<std::int64_t> value) {
    if (field_ == "ts") {
      time(digits, event_.ts);
    } else if (field_ == "dur") {
      time(digits, event_.dur);
    } else if (field_ == "pid" || field_ == "tid") {
      id(value ? ChromeId{false, *value, {}} : ChromeId{true, 0, std::string(digits)});
    } else {
      event_.arrow.takeNumber(field_, digits);
    }
  }

  void textField(const std::string& text) {
    if (field_ == "ph") {
      event_.phase = event_.keep(text);
    } else if (field_ == "name") {
      event_.name = event_.keep(text);
    } else if (field_ == "cat") {
      event_.category = event_.keep(text);
    } else if (field_ == "ts") {
      time(text, event_.ts);  // some programs quote their times
    } else if (field_ == "dur") {
      time(text, event_.dur);
    } else if (field_ == "pid" || field_ == "tid") {
      (field_ == "pid" ? event_.pid : event_.tid).setText(text);
    } else {
      event_.arrow.takeText(field_, text);
    }
  }

  void time(std::string_view digits, std::optional<Nanoseconds>& out) {
    out = parseMicroseconds(digits);
    event_.badTime = event_.badTime || !out;
  }

  void id(ChromeId value) { (field_ == "pid" ? event_.pid : event_.tid) = std::move(value); }

  void keepArgument() { event_.arguments.push_back(std::exchange(argument_, {})); }

  ChromeEvent& event_;
  int depth_ = 0;
  std::string field_;
  bool inArguments_ = false;
  ChromeArgument argument_;
  std::string nested_;  // the value of an argument that is an array or object, so far
  bool comma_ = false;
};

bool parse(std::string_view json, ChromeEvent& event) {
  event.clear();
  EventHandler handler(event);
  return nlohmann::json::sax_parse(json.begin(), json.end(), &handler);
}

/// A number as it is written.
struct PlainNumber {
  std::string_view digits;
  std::int64_t whole = 0;        ///< without its sign
  std::int64_t thousandths = 0;  ///< smaller parts are cut off
  bool isNegative = false;
  bool isReal = false;

  std::int64_t integer() const { return isNegative ? -whole : whole; }
};

enum class ValueKind { kText, kNumber, kWord };

struct Value {
  ValueKind kind = ValueKind::kWord;
  std::string_view text;  ///< of texts and words
  PlainNumber number;
};

/// Takes an event apart from its start. Each function returns false where it finds something else.
class EventScanner {
 public:
  explicit EventScanner(std::string_view text)
      : at_(text.data()), end_(text.data() + text.size()) {}

  const char* at() const { return at_; }

  /// Takes this byte, and blanks after it.
  bool byte(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    skipBlanks();
    return true;
  }

  /// The same, without blanks after it.
  bool lastByte(char c) { return at_ != end_ && *at_++ == c; }

  bool key(std::string_view& text) { return this->text(text) && byte(':'); }

  bool value(Value& value) {
    if (at_ == end_) return false;
    if (*at_ == '"') {
      value.kind = ValueKind::kText;
      return text(value.text);
    }
    if (*at_ == '-' || isDigit(*at_)) {
      value.kind = ValueKind::kNumber;
      return number(value.number);
    }
    value.kind = ValueKind::kWord;
    return word("true", value.text) || word("false", value.text) || word("null", value.text);
  }

 private:
  static bool isDigit(char c) { return c >= '0' && c <= '9'; }

  void skipBlanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }

  bool text(std::string_view& text) {
    if (at_ == end_ || *at_ != '"') return false;
    const char* const from = ++at_;
    skipPlainBytes();
    bool isAscii = true;
    for (; at_ != end_ && *at_ != '"'; ++at_) {
      const auto byte = static_cast<unsigned char>(*at_);
      if (byte < 0x20 || byte == '\\') return false;
      isAscii = isAscii && byte < 0x80;
    }
    if (at_ == end_) return false;
    text = {from, static_cast<std::size_t>(at_ - from)};
    ++at_;
    skipBlanks();
    return isAscii || isUtf8(text);
  }

  /// Stops at a quote, and perhaps before it, but never after a byte that is not plain.
  void skipPlainBytes() {
#ifdef __SSE2__
    constexpr int kWidth = 16;
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i blank = _mm_set1_epi8(' ');
    for (; end_ - at_ >= kWidth; at_ += kWidth) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at_));
      // Bytes of other scripts are negative here, and so less than a blank, too.
      const __m128i special =
          _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
                       _mm_cmplt_epi8(bytes, blank));
      if (const int found = _mm_movemask_epi8(special); found != 0) {
        at_ += __builtin_ctz(static_cast<unsigned>(found));
        return;
      }
    }
#endif
  }

  bool word(std::string_view word, std::string_view& text) {
    const auto left = static_cast<std::size_t>(end_ - at_);
    if (left < word.size() || std::memcmp(at_, word.data(), word.size()) != 0) return false;
    text = word;
    at_ += word.size();
    skipBlanks();
    return true;
  }

  /// A number as in JSON, without an exponent and with at most 18 digits before the dot.
  bool number(PlainNumber& number) {
    const char* const from = at_;
    number = {};
    number.isNegative = *at_ == '-';
    if (number.isNegative) ++at_;
    const char* const digits = at_;
    const char* const farthest = end_ - at_ > 18 ? at_ + 18 : end_;
    std::int64_t whole = 0;
    for (; at_ != farthest && isDigit(*at_); ++at_) whole = whole * 10 + (*at_ - '0');
    if (at_ != end_ && isDigit(*at_)) return false;
    number.whole = whole;
    const auto count = at_ - digits;
    if (count == 0 || (count > 1 && *digits == '0')) return false;
    if (at_ != end_ && *at_ == '.') {
      number.isReal = true;
      if (!decimals(number.thousandths)) return false;
    }
    if (at_ == end_ || *at_ == 'e' || *at_ == 'E') return false;
    if (number.isNegative && number.whole == 0 && !number.isReal) return false;
    number.digits = {from, static_cast<std::size_t>(at_ - from)};
    skipBlanks();
    return true;
  }

  bool decimals(std::int64_t& thousandths) {
    const char* const from = ++at_;
    int weight = 100;
    for (; at_ != end_ && isDigit(*at_); ++at_, weight /= 10) thousandths += weight * (*at_ - '0');
    return at_ != from;
  }

  const char* at_;
  const char* end_;
};

/// Nothing for a value that is no number, and for times that need the library.
std::optional<Nanoseconds> timeFrom(const Value& value) {
  constexpr std::int64_t kFarthest = 9'000'000'000'000'000;  // microseconds that surely fit
  if (value.kind != ValueKind::kNumber || value.number.whole > kFarthest) return std::nullopt;
  const Nanoseconds magnitude = value.number.whole * kNsPerUs + value.number.thousandths;
  return value.number.isNegative ? -magnitude : magnitude;
}

bool setId(ChromeId& id, const Value& value) {
  if (value.kind == ValueKind::kText) {
    id.setText(value.text);
    return true;
  }
  id.isText = false;
  id.number = value.number.integer();
  id.text.clear();
  return value.kind == ValueKind::kNumber && !value.number.isReal;
}

bool setText(std::string_view& text, const Value& value) {
  text = value.text;
  return value.kind == ValueKind::kText;
}

bool setTime(std::optional<Nanoseconds>& time, const Value& value) {
  time = timeFrom(value);
  return time.has_value();
}

/// As the length is known, comparing is one instruction.
template <std::size_t size>
bool is(std::string_view key, const char (&name)[size]) {
  return key.size() == size - 1 && std::memcmp(key.data(), name, size - 1) == 0;
}

bool setField(ChromeEvent& event, std::string_view key, const Value& value) {
  if (is(key, "ph")) return setText(event.phase, value);
  if (is(key, "ts")) return setTime(event.ts, value);
  if (is(key, "cat")) return setText(event.category, value);
  if (is(key, "dur")) return setTime(event.dur, value);
  if (is(key, "pid")) return setId(event.pid, value);
  if (is(key, "tid")) return setId(event.tid, value);
  if (is(key, "name")) return setText(event.name, value);
  switch (value.kind) {
    case ValueKind::kNumber: event.arrow.takeNumber(key, value.number.digits); break;
    case ValueKind::kText: event.arrow.takeText(key, value.text); break;
    case ValueKind::kWord: event.arrow.takeWord(key, value.text); break;
  }
  return true;
}

void addArgument(ChromeEvent& event, std::string_view key, const Value& value) {
  ChromeArgument& argument = event.arguments.emplace_back();
  argument.key = key;
  if (value.kind != ValueKind::kNumber) {
    argument.type = ChromeArgument::Type::kText;
    argument.text = value.text;
  } else if (value.number.isReal) {
    const std::string_view digits = value.number.digits;
    argument.type = ChromeArgument::Type::kReal;
    std::from_chars(digits.data(), digits.data() + digits.size(), argument.real);
  } else {
    argument.integer = value.number.integer();
  }
}

bool readArguments(EventScanner& scan, ChromeEvent& event) {
  if (!scan.byte('{')) return false;
  if (scan.byte('}')) return true;
  std::string_view key;
  Value value;
  do {
    if (!scan.key(key) || !scan.value(value)) return false;
    addArgument(event, key, value);
  } while (scan.byte(','));
  return scan.byte('}');
}

}  // namespace

const ChromeArgument* ChromeEvent::find(std::string_view key) const {
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const ChromeArgument& a) { return a.key == key; });
  return found == arguments.end() ? nullptr : &*found;
}

void ChromeEvent::clear() {
  phase = name = category = {};
  for (ChromeId* id : {&pid, &tid}) {
    id->isText = false;
    id->number = 0;
    id->text.clear();
  }
  ts.reset();
  dur.reset();
  badTime = false;
  arrow = {};
  arguments.clear();
  if (!own.empty()) own.clear();
}

std::string_view ChromeEvent::keep(std::string text) { return own.emplace_back(std::move(text)); }

bool parseChromeEvent(std::string_view json, ChromeEvent& event) {
  if (parse(json, event)) return true;
  return !isUtf8(json) && parse(toUtf8(json), event);
}

std::size_t readPlainChromeEvent(std::string_view text, ChromeEvent& event) {
  event.clear();
  EventScanner scan(text);
  if (!scan.byte('{')) return 0;
  std::string_view key;
  Value value;
  do {
    if (!scan.key(key)) return 0;
    const bool isRead = is(key, "args") ? readArguments(scan, event)
                                        : scan.value(value) && setField(event, key, value);
    if (!isRead) return 0;
  } while (scan.byte(','));
  if (!scan.lastByte('}')) return 0;
  return static_cast<std::size_t>(scan.at() - text.data());
}

}  // namespace pipetrace
