#include "trace/files/output_names.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "trace/error.h"

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

void OutputNames::add(const std::string& path) {
  std::string file = path == "-" ? path : fileBehind(path);
  if (std::find(files_.begin(), files_.end(), file) != files_.end()) {
    throw Error(path + " is to be written twice; name each output once");
  }
  files_.push_back(std::move(file));
}

void refuseInput(const std::string& output, const std::vector<std::string>& inputs) {
  if (output == "-") return;
  const bool isRead = std::any_of(inputs.begin(), inputs.end(), [&](const std::string& input) {
    return input != "-" && isSameFile(input, output);
  });
  if (isRead) refuseAsInput(output);
}

void refuseAsInput(const std::string& output) {
  throw Error(output + " is an input; choose another name for the output");
}

}  // namespace pipetrace
