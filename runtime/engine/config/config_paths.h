#pragma once

#include <string>
#include <vector>

namespace pipetrace {

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
