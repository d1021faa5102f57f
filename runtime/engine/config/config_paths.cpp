#include "runtime/engine/config/config_paths.h"

#include <filesystem>

namespace pipetrace {

namespace fs = std::filesystem;

std::vector<std::string> ConfigPaths::candidates(const std::string& path) const {
  if (fs::path(path).is_absolute()) return {path};
  std::vector<std::string> all;
  for (const std::string& base : {folder, fileFolder}) {
    if (!base.empty()) all.push_back((fs::path(base) / path).lexically_normal().string());
  }
  return all;
}

std::string ConfigPaths::resolve(const std::string& path) const {
  const std::vector<std::string> all = candidates(path);
  for (const std::string& each : all) {
    std::error_code error;
    if (fs::exists(each, error)) return each;
  }
  return all.front();
}

std::string modelFolder(const std::string& directory, const std::string& fileFolder) {
  if (directory.empty()) return "";
  std::vector<fs::path> all = {fs::absolute(directory)};
  if (fs::path(directory).is_relative()) all.push_back(fs::path(fileFolder) / directory);
  for (const fs::path& each : all) {
    std::error_code error;
    if (fs::is_directory(each, error)) return each.lexically_normal().string();
  }
  return "";
}

}  // namespace pipetrace
