#include "parser/chrome/event.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "parser/json/json_string.h"
#include "parser/json/microseconds.h"
#include "trace/text/number_text.h"
#include "trace/text/utf8.h"

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

}  // namespace pipetrace
