#include "python/abi/json_options.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "trace/error.h"

namespace pipetrace {
namespace {

using Json = nlohmann::ordered_json;

/// The text of a value on a command line. Throws Error for one that is none.
std::string textOf(const std::string& name, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  throw Error("the option " + name + " is a text, a number, a list of these, true or false, not " +
              value.dump());
}

}  // namespace

JsonOptions::JsonOptions(const char* text) {
  if (text == nullptr || *text == '\0') return;
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) {
    throw Error(R"(options are a JSON object such as {"steps": "2:5"}, not )" + std::string(text));
  }
  for (const auto& [key, value] : object.items()) {
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', '-');
    if (value.is_null() || (value.is_boolean() && !value.get<bool>())) continue;
    if (value.is_boolean()) {
      options_.push_back({name, std::nullopt});
    } else if (value.is_array()) {
      for (const Json& each : value) options_.push_back({name, textOf(name, each)});
    } else {
      options_.push_back({name, textOf(name, value)});
    }
  }
}

std::vector<std::string> JsonOptions::take(std::string_view name) {
  std::vector<std::string> values = valuesOf(name);
  std::erase_if(options_, [&](const Option& option) { return option.name == name; });
  return values;
}

std::vector<std::string> JsonOptions::valuesOf(std::string_view name) const {
  std::vector<std::string> values;
  for (const Option& option : options_) {
    if (option.name == name) values.push_back(option.text.value_or(""));
  }
  return values;
}

std::vector<std::string> JsonOptions::words() const {
  std::vector<std::string> words;
  words.reserve(options_.size());
  for (const auto& [name, text] : options_)
    words.push_back("--" + name + (text ? "=" + *text : ""));
  return words;
}

}  // namespace pipetrace
