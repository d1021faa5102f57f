#include "runtime/checkpoint/weights_folder.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/checkpoint/make_folder.h"
#include "trace/error.h"
#include "trace/files/write_all.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

/// Without the slashes at the end, which are no part of a name.
std::string nameOf(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return folder;
}

std::string folderAbove(const std::string& folder) {
  const std::string above = fs::path(folder).parent_path();
  return above.empty() ? "." : above;
}

void requireReplaceable(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return;
  const bool isSaved = fs::exists(folder + "/" + Manifest::kFileName, error);
  const bool isEmpty = fs::is_directory(folder, error) && fs::is_empty(folder, error);
  if (isSaved || isEmpty) return;
  throw Error("cannot save weights as " + folder +
              ": it is there, and has something else; choose another folder");
}

void renameTo(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) throw writeError("rename", from, errno);
}

}  // namespace

WeightsFolder::WeightsFolder(std::string folder) : folder_(nameOf(std::move(folder))) {
  requireReplaceable(folder_);
  std::error_code ignored;
  fs::remove_all(asideOf(folder_), ignored);
  makeFolder(asideOf(folder_));
}

WeightsFolder::~WeightsFolder() {
  std::error_code ignored;
  fs::remove_all(asideOf(folder_), ignored);
}

std::string WeightsFolder::asideOf(const std::string& folder) { return nameOf(folder) + ".saving"; }

void WeightsFolder::finish(const Manifest& manifest) {
  const std::string aside = asideOf(folder_);
  writeManifest(aside, fs::path(folder_).parent_path(), manifest);
  std::error_code ignored;
  if (!fs::exists(folder_, ignored)) {
    renameTo(aside, folder_);
  } else if (::renameat2(AT_FDCWD, aside.c_str(), AT_FDCWD, folder_.c_str(), RENAME_EXCHANGE) !=
             0) {
    if (errno != EINVAL && errno != ENOSYS) throw writeError("rename", aside, errno);
    fs::remove_all(folder_ + ".old", ignored);
    renameTo(folder_, folder_ + ".old");
    renameTo(aside, folder_);
    fs::remove_all(folder_ + ".old", ignored);
  }
  syncFolder(folderAbove(folder_));
}

}  // namespace pipetrace
