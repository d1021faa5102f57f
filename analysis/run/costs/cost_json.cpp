#include "analysis/run/costs/cost_json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "trace/error.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"
#include "trace/text/suggestions.h"

namespace pipetrace {
namespace {

constexpr std::size_t kDeepest = 4;

/// Keeps what is read in place. A parsed document of nlohmann's has lost the digits of its numbers.
class CostJsonHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit CostJsonHandler(const std::string& name) : name_(name) {}

  CostJson take() { return std::move(root_); }

  bool null() override { return add({.kind = CostJson::Kind::kNull}); }
  bool boolean(bool) override { return add({.kind = CostJson::Kind::kBoolean}); }
  bool binary(binary_t&) override { return add({.kind = CostJson::Kind::kText}); }
  bool string(string_t& text) override {
    return add({.kind = CostJson::Kind::kText, .text = text});
  }
  bool number_integer(number_integer_t value) override {
    return addNumber(std::to_string(value), static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return addNumber(std::to_string(value), static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    return addNumber(numberWithPoint(text), value);
  }
  bool start_object(std::size_t) override { return open(CostJson::Kind::kObject); }
  bool start_array(std::size_t) override { return open(CostJson::Kind::kArray); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& key) override {
    key_ = key;
    return true;
  }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: …"
    const std::string text = error.what();
    const std::size_t from = text.find("at line");
    throw Error(name_ + ": invalid JSON " + (from == std::string::npos ? text : text.substr(from)));
  }

 private:
  bool addNumber(std::string digits, double value) {
    return add({.kind = CostJson::Kind::kNumber, .text = std::move(digits), .number = value});
  }

  /// Where the next value is; null: too deep.
  CostJson* place() {
    if (tooDeep_ > 0) return nullptr;
    if (open_.empty()) return &root_;
    CostJson& in = *open_.back();
    if (in.kind == CostJson::Kind::kArray) return &in.items.emplace_back();
    return &in.members.emplace_back(key_, CostJson()).second;
  }
  bool add(CostJson value) {
    if (CostJson* const to = place()) *to = std::move(value);
    return true;
  }
  bool open(CostJson::Kind kind) {
    CostJson* const to = place();
    if (to != nullptr) to->kind = kind;
    if (to == nullptr || open_.size() == kDeepest) {
      ++tooDeep_;
    } else {
      open_.push_back(to);  // whose neighbours come when it is closed
    }
    return true;
  }
  bool close() {
    tooDeep_ > 0 ? static_cast<void>(--tooDeep_) : open_.pop_back();
    return true;
  }

  const std::string& name_;
  CostJson root_;
  std::vector<CostJson*> open_;
  std::size_t tooDeep_ = 0;
  std::string key_;
};

std::string adviceFor(const std::string& key, const std::vector<std::string>& known) {
  if (const std::string near = nearestName(key, known); !near.empty()) {
    return "did you mean " + near + "?";
  }
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  return "the keys are " + list;
}

void requireNumber(const CostJson& value, const CostFailure& fail, const char* other) {
  if (value.isA(CostJson::Kind::kNumber)) return;
  fail("is " + std::string(value.whatItIs()) + ", not a number" + other);
}

}  // namespace

const CostJson* CostJson::find(std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name == key) return &value;
  }
  return nullptr;
}

const char* CostJson::whatItIs() const {
  switch (kind) {
    case Kind::kNull: return "null";
    case Kind::kBoolean: return "true or false";
    case Kind::kNumber: return "a number";
    case Kind::kText: return "text";
    case Kind::kArray: return "an array";
    case Kind::kObject: return "an object";
  }
  return "";
}

CostJson readCostJson(std::string_view text, const std::string& name) {
  CostJsonHandler handler(name);
  nlohmann::json::sax_parse(text, &handler, nlohmann::json::input_format_t::json, /*strict=*/true,
                            /*ignore_comments=*/true);
  return handler.take();
}

void requireKeys(const CostJson& object, const std::vector<std::string>& known,
                 const std::string& place, std::string_view ofWhat) {
  const std::set<std::string_view> all(known.begin(), known.end());
  std::set<std::string_view> seen;
  for (const auto& [key, value] : object.members) {
    if (!seen.insert(key).second) throw Error(place + key + " occurs twice");
    if (all.contains(key)) continue;
    throw Error(place + key + " is no key of " + std::string(ofWhat) + "; " +
                adviceFor(key, known));
  }
}

std::int64_t costIn(std::string_view key, const CostJson& value, const CostFailure& fail,
                    const char* other) {
  // A plan adds up thousands of them.
  constexpr std::int64_t kLargest = kNsMax / 1'000'000;
  requireNumber(value, fail, other);
  const std::string& text = value.text;
  const bool mayBeNegative = key == kFreedByInput;
  if (value.number < 0 && !mayBeNegative) fail("is " + text + "; no cost is negative");
  const bool isTime = key.ends_with("_ms");
  const std::optional<std::int64_t> cost = parseDecimalTime(text, isTime ? kNsPerMs : 1);
  const bool hasPoint = text.find('.') != std::string::npos;
  const bool isInRange = cost && *cost <= kLargest && *cost >= (mayBeNegative ? -kLargest : 0);
  if (isInRange && (isTime || !hasPoint)) return *cost;
  fail("is " + text + ", which is no " +
       (isTime ? "time in milliseconds; write it like 10 or 0.25, up to " + milliseconds(kLargest)
               : std::string("whole number") + (key.ends_with("_bytes") ? " of bytes" : "")));
  return 0;
}

double bandwidthIn(const CostJson& value, const CostFailure& fail) {
  requireNumber(value, fail, "");
  const double bandwidth = value.number * kBandwidthUnit;
  if (!(bandwidth > 0 && std::isfinite(bandwidth))) {
    fail("is " + value.text +
         (value.number < 0 ? "; no cost is negative"
                           : "; a bandwidth is finite and above 0, or left out"));
  }
  return bandwidth;
}

std::string milliseconds(Nanoseconds time) {
  std::string text;
  appendMilliseconds(text, time);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace pipetrace
