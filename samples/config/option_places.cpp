#include "samples/config/option_places.h"

#include <algorithm>
#include <cctype>

#include "runtime/engine/config/config_file.h"

namespace pipetrace {
namespace {

/// Where the text names the option; npos: nowhere.
std::size_t placeOfFlag(const std::string& text, const std::string& flag) {
  for (std::size_t at = text.find(flag); at != std::string::npos; at = text.find(flag, at + 1)) {
    const std::size_t end = at + flag.size();
    const bool goesOn =
        end < text.size() &&
        (text[end] == '-' || std::isalnum(static_cast<unsigned char>(text[end])) != 0);
    if (!goesOn) return at;
  }
  return std::string::npos;
}

}  // namespace

std::string flagOf(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

std::string OptionPlaces::placed(const std::string& error,
                                 const std::vector<std::string>& flags) const {
  const ConfigOption* found = nullptr;
  for (const std::string& flag : flags) {
    const auto meant = std::find_if(options.begin(), options.end(), [&](const auto& option) {
      return flagOf(option.name) == flag;
    });
    if (meant == options.end()) continue;
    found = &*meant;
    break;
  }
  std::size_t first = found == nullptr ? std::string::npos : 0;
  for (const ConfigOption& option : options) {
    const std::size_t at = placeOfFlag(error, flagOf(option.name));
    if (at >= first) continue;
    first = at;
    found = &option;
  }
  if (found == nullptr) return error;
  const std::string place = found->line > 0 ? placeIn(file, found->line) : file;
  const std::string flag = flagOf(found->name);
  std::size_t begin = error.starts_with(flag + ": ") ? flag.size() + 2 : 0;
  for (const std::string& value : found->values) {
    if (error.starts_with(flag + " " + value)) begin = flag.size() + 1;
  }
  return place + ": " + found->key + ": " + error.substr(begin);
}

}  // namespace pipetrace
