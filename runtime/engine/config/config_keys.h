#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/config/config_file.h"

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

/// The keys of a configuration file by their names, and their values as what they must be. All
/// functions throw Error as "FILE:LINE: KEY: what is wrong".
class ConfigValues {
 public:
  /// Reads the file. Refuses keys that are there twice, also once by an alias; values of another
  /// kind than their key has; and ConfigKey::refusal. A key without a value is none.
  explicit ConfigValues(const std::string& path);

  const std::string& file() const { return file_; }
  bool has(const std::string& name) const { return entries_.count(name) > 0; }
  const ConfigValue& value(const std::string& name) const { return entryOf(name).value; }
  /// As the file has the key: "b" for batch_size.
  const std::string& keyOf(const std::string& name) const { return entryOf(name).key; }
  int lineOf(const std::string& name) const { return entryOf(name).line; }

  /// Empty without the key.
  std::string text(const std::string& name) const;
  /// False without the key.
  bool truth(const std::string& name) const;
  /// `otherwise` without the key.
  int whole(const std::string& name, int otherwise = 0, int least = 1) const;
  /// The text, which must be one of `choices`; empty without the key.
  std::string oneOf(const std::string& name, const std::vector<std::string>& choices) const;

  /// All keys, in the order of the file.
  const std::vector<std::string>& names() const { return names_; }

  [[noreturn]] void fail(const std::string& name, const std::string& why) const;

 private:
  const ConfigEntry& entryOf(const std::string& name) const { return entries_.at(name); }
  void requireKind(const std::string& name) const;

  std::string file_;
  std::vector<std::string> names_;
  std::map<std::string, ConfigEntry> entries_;
};

/// Whether the text is a truth, and which.
bool isTruth(const std::string& text, bool& value);

}  // namespace pipetrace
