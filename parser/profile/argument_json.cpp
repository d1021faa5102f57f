#include "parser/profile/argument_json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "parser/profile/common_format.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

namespace cf = common_format;
using Json = nlohmann::ordered_json;

std::string escaped(std::string_view prefix, std::size_t position, std::string_view key) {
  return std::string(prefix) + std::to_string(position) + "." + std::string(key);
}

double notFinite(std::string_view text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "inf") return kInfinity;
  return text == "-inf" ? -kInfinity : std::numeric_limits<double>::quiet_NaN();
}

std::optional<Argument> argumentFrom(const std::string& name, const Json& value,
                                     StringTable& strings) {
  const auto realKey = escapedKey(name, cf::kEscapedReal);
  if (realKey && value.is_string()) {
    return Argument::ofReal(strings.intern(*realKey), notFinite(value.get<std::string>()));
  }
  const StringId key = strings.intern(escapedKey(name, cf::kEscapedKey).value_or(name));
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(kNsMax)) {
    return Argument::ofReal(key, value.get<double>());
  }
  if (value.is_number_integer()) return Argument::ofInteger(key, value.get<std::int64_t>());
  if (value.is_number_float()) return Argument::ofReal(key, value.get<double>());
  if (value.is_string()) return Argument::ofText(key, strings.intern(value.get<std::string>()));
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> escapedKey(std::string_view key, std::string_view prefix) {
  if (!key.starts_with(prefix)) return std::nullopt;
  key.remove_prefix(prefix.size());
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos || !parseNumber<std::uint32_t>(key.substr(0, dot))) {
    return std::nullopt;
  }
  return key.substr(dot + 1);
}

std::string argumentsToJson(const Timeline& timeline, const Event& event) {
  if (event.argumentCount == 0) return {};
  Json json = Json::object();
  std::size_t position = 0;
  for (const Argument& argument : timeline.argumentsOf(event)) {
    std::string key(timeline.strings[argument.key]);
    if (argument.type == ArgumentType::kReal && !std::isfinite(argument.real)) {
      json[escaped(cf::kEscapedReal, position, key)] = std::isnan(argument.real) ? "nan"
                                                       : argument.real > 0       ? "inf"
                                                                                 : "-inf";
    } else {
      if (json.contains(key) || key.starts_with(cf::kEscapedKey) ||
          key.starts_with(cf::kEscapedReal)) {
        key = escaped(cf::kEscapedKey, position, key);
      }
      Json& value = json[key];
      switch (argument.type) {
        case ArgumentType::kInteger: value = argument.integer; break;
        case ArgumentType::kReal: value = argument.real; break;
        case ArgumentType::kText: value = std::string(timeline.strings[argument.text]); break;
      }
    }
    ++position;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool argumentsFromJson(std::string_view text, StringTable& strings, std::vector<Argument>& list) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object()) return false;
  std::vector<Argument> read;
  for (const auto& [name, value] : json.items()) {
    const auto argument = argumentFrom(name, value, strings);
    if (!argument) return false;
    read.push_back(*argument);
  }
  list.insert(list.end(), read.begin(), read.end());
  return true;
}

}  // namespace pipetrace
