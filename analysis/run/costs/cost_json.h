#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// A value of a JSON file of costs. Numbers keep their digits, which times need.
struct CostJson {
  enum class Kind { kNull, kBoolean, kNumber, kText, kArray, kObject };

  Kind kind = Kind::kNull;
  std::string text = {};  ///< the digits of a number, or a text
  double number = 0;
  std::vector<CostJson> items = {};  ///< of an array
  /// The members of an object, in the order of the file. A key may be there twice.
  std::vector<std::pair<std::string, CostJson>> members = {};

  bool isA(Kind other) const { return kind == other; }
  /// The first member with that key; null: there is none.
  const CostJson* find(std::string_view key) const;
  /// "an object", "a number", …
  const char* whatItIs() const;
};

/// Reads the text of a file. `//` and `/* */` comments are skipped. Values within four arrays or
/// objects are left out, as no file of costs goes so deep. Throws Error such as "costs.json:
/// invalid JSON at line 1, column 2: …".
CostJson readCostJson(std::string_view text, const std::string& name);

/// A key of a file of costs, and the member that its value goes to.
template <typename Of, typename Value>
struct CostKey {
  std::string_view name;
  Value Of::*member;
};

/// The member of a key, or null.
template <typename Of, typename Value, std::size_t n>
Value Of::*memberOf(const CostKey<Of, Value> (&keys)[n], std::string_view name) {
  for (const auto& key : keys) {
    if (key.name == name) return key.member;
  }
  return nullptr;
}

template <typename Of, typename Value, std::size_t n>
void addNames(std::vector<std::string>& names, const CostKey<Of, Value> (&keys)[n]) {
  for (const auto& key : keys) names.emplace_back(key.name);
}

/// Throws Error for a key of `object` that is not among `known`, with the nearest one of them or
/// all, and for one that is there twice. The text begins with `place`: "costs.json: ".
void requireKeys(const CostJson& object, const std::vector<std::string>& known,
                 const std::string& place, std::string_view ofWhat);

/// Throws Error with what is wrong with a value: "is text, not a number".
using CostFailure = std::function<void(const std::string& what)>;

constexpr std::string_view kFreedByInput = "freed_by_input_bytes";

/// Reads the number of a key in a costs file, from its digits: a time in ms for keys that end in
/// "_ms", else a whole number. Only kFreedByInput may be negative. `other`: what may stand there in
/// place of a number, for the failure, such as " or an array of numbers".
std::int64_t costIn(std::string_view key, const CostJson& value, const CostFailure& fail,
                    const char* other = "");

/// A link's bandwidth in bytes a second, of a number in GB/s. It is finite and above 0.
double bandwidthIn(const CostJson& value, const CostFailure& fail);
constexpr double kBandwidthUnit = 1e9;  ///< bytes a second

/// Milliseconds as text, such as "10" or "0.25".
std::string milliseconds(Nanoseconds time);

}  // namespace pipetrace
