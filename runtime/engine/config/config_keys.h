#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipetrace {

/// The kind of value that a key has.
enum class KeyKind {
  kText,
  kTruth,         ///< true or false, in any case, also yes, no, on, off
  kWhole,         ///< a number from ConfigKey::least on
  kNumber,        ///< the same with a fraction
  kTruthOrWhole,  ///< either
  kAny,           ///< its reader says
  kRefused,       ///< false; ConfigKey::refusal says why it cannot be true
};

/// A key of the drivers of PipeDream (Narayanan et al. 2019) and VPipe (Zhao et al. 2021), or a
/// flag of their runtime. All other keys of a file are options of the program.
struct ConfigKey {
  std::string_view name;
  std::vector<std::string_view> aliases;
  KeyKind kind = KeyKind::kText;
  double least = 0;
  std::string_view refusal = {};
};

/// All of them.
const std::vector<ConfigKey>& configKeys();

/// The one of that name or alias; null for none. '-' counts as '_'.
const ConfigKey* findConfigKey(std::string_view name);

/// Their names and aliases.
std::vector<std::string> configKeyNames();

/// A name as configuration files have it: with '_' in place of '-'.
std::string configName(std::string_view name);

}  // namespace pipetrace
