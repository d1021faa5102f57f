#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipetrace {

struct ConfigEntry;

/// A value in a configuration file, and where it stands.
struct ConfigValue {
  enum class Kind { kNothing, kText, kList, kMap };

  Kind kind = Kind::kNothing;
  int line = 0;                      ///< from 1 on
  std::string text = {};             ///< of a text: as it is, also of numbers and truths
  std::vector<ConfigValue> items{};  ///< of a list
  std::vector<ConfigEntry>
      entries;  ///< of a map, in the order of the file; keys may be there twice
};

/// A key and its value.
struct ConfigEntry {
  std::string key;
  int line = 0;
  ConfigValue value;
};

/// Reads a YAML file (so also JSON) whose whole is a map. Anchors, aliases and a second document
/// are refused, as are more than 64 MiB and more than 100000 values. A byte order mark of UTF-8 is
/// passed over. Throws Error as "FILE:LINE: what is wrong"; for a file without keys it shows
/// `example`.
ConfigValue readConfigFile(const std::string& path, const std::string& example = "batch_size: 16");

/// "FILE:LINE".
std::string placeIn(const std::string& file, int line);

/// A text of the file for a message: cut after 60 letters, without control characters.
std::string shownText(std::string_view text);

/// The value as JSON. Texts that JSON has as numbers and truths stay so.
std::string jsonOf(const ConfigValue& value);

/// How relative paths of a configuration file are read.
struct ConfigPaths {
  std::string folder;      ///< that of the model, absolute; empty: there is none
  std::string fileFolder;  ///< that of the file, absolute

  /// Where a relative path may lead, the first choice first; an absolute path stays.
  std::vector<std::string> candidates(const std::string& path) const;
  /// The first candidate that exists, else the first one.
  std::string resolve(const std::string& path) const;
};

/// The folder that `directory` names. A relative one begins in the working folder, as the drivers
/// have it, else in that of the file. Empty: there is no such folder, so `directory` is a program.
std::string modelFolder(const std::string& directory, const std::string& fileFolder);

}  // namespace pipetrace
