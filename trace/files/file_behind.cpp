#include "trace/files/file_behind.h"

#include <filesystem>
#include <system_error>

namespace pipetrace {

namespace fs = std::filesystem;

std::string fileBehind(const std::string& path) {
  std::error_code error;
  fs::path file = path;
  // weakly_canonical() does not follow a link whose target does not exist.
  constexpr int kMostLinks = 40;  // as Linux allows
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(file, error)); ++i) {
    const fs::path target = fs::read_symlink(file, error);
    if (error) break;
    file = file.parent_path() / target;
  }
  // weakly_canonical() leaves a relative path relative where nothing exists under it.
  const fs::path real = fs::weakly_canonical(fs::absolute(file, error), error);
  return (error ? fs::absolute(path, error) : real).string();
}

bool isSameFile(const std::string& a, const std::string& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) || fileBehind(a) == fileBehind(b);
}

}  // namespace pipetrace
