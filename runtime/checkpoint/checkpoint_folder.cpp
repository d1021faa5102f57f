#include "runtime/checkpoint/checkpoint_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/checkpoint/file_bytes.h"
#include "trace/error.h"
#include "trace/files/output_file.h"
#include "trace/files/write_all.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepPrefix = "step_";

std::optional<std::int64_t> stepOf(const std::string& name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  const char* const begin = name.data() + kStepPrefix.size();
  const char* const end = name.data() + name.size();
  std::int64_t step = 0;
  const auto [last, error] = std::from_chars(begin, end, step);
  // "step_007" would be another folder than that of step 7.
  if (error != std::errc() || last != end || name != kStepPrefix.data() + std::to_string(step)) {
    return std::nullopt;
  }
  return step;
}

bool hasManifest(const std::string& folder) {
  std::error_code error;
  return fs::exists(fs::path(folder) / Manifest::kFileName, error);
}

/// Steps with a manifest, or those without one; ascending.
std::vector<std::int64_t> stepsIn(const std::string& folder, bool isFinished) {
  std::vector<std::int64_t> steps;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  if (error == std::errc::no_such_file_or_directory) return steps;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const auto step = stepOf(entry->path().filename());
    if (step && hasManifest(entry->path()) == isFinished) steps.push_back(*step);
  }
  if (error) throw Error("cannot read " + folder + ": " + error.message());
  std::sort(steps.begin(), steps.end());
  return steps;
}

/// Whether a checkpoint has made it: "block_3.pt", or its name while it was not whole.
bool isOurs(std::string name) {
  const std::size_t part = name.find(".part-");
  if (part != std::string::npos) name.resize(part);
  return name == Manifest::kFileName || (name.starts_with("block_") && name.ends_with(".pt"));
}

void removeFile(const fs::path& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw writeError("remove", path, errno);
}

/// Names the owner of a lock for the errors of others. The system does not know owners on other
/// hosts.
std::string ownerText() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return "process " + std::to_string(::getpid()) + " on " + host.data();
}

std::string textIn(int fd) {
  std::array<char, 512> text{};
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "another process";
}

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

std::string stepFolder(const std::string& folder, std::int64_t step) {
  return folder + "/" + std::string(kStepPrefix) + std::to_string(step);
}

std::vector<std::int64_t> checkpointSteps(const std::string& folder) {
  return stepsIn(folder, true);
}

std::optional<std::int64_t> newestCheckpoint(const std::string& folder) {
  const std::vector<std::int64_t> steps = checkpointSteps(folder);
  return steps.empty() ? std::nullopt : std::optional(steps.back());
}

std::vector<std::int64_t> unfinishedSteps(const std::string& folder) {
  return stepsIn(folder, false);
}

void removeCheckpoint(const std::string& folder, std::int64_t step) {
  const fs::path own = stepFolder(folder, step);
  if (hasManifest(own)) {
    removeFile(own / Manifest::kFileName);
    syncFolder(own);
  }
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(own, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (isOurs(entry->path().filename())) files.push_back(entry->path());
  }
  if (error == std::errc::no_such_file_or_directory) return;
  if (error) throw Error("cannot read " + own.string() + ": " + error.message());
  for (const fs::path& file : files) removeFile(file);
  if (::rmdir(own.c_str()) != 0 && errno != ENOTEMPTY && errno != EEXIST && errno != ENOENT) {
    throw writeError("remove", own, errno);
  }
}

CheckpointFolder::CheckpointFolder(std::string path) : path_(std::move(path)) {
  makeFolder(path_);
  takeLock();
  try {
    for (const std::int64_t step : unfinishedSteps(path_)) removeCheckpoint(path_, step);
  } catch (...) {
    ::close(lock_);
    throw;
  }
}

CheckpointFolder::~CheckpointFolder() { ::close(lock_); }

void CheckpointFolder::takeLock() {
  const std::string name = path_ + "/lock";
  lock_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) throw writeError("create", name, errno);
  isLocked_ = ::flock(lock_, LOCK_EX | LOCK_NB) == 0;
  if (!isLocked_ && errno == EWOULDBLOCK) {
    const std::string owner = textIn(lock_);
    ::close(lock_);
    throw Error("the checkpoints in " + path_ + " are those of another run, which is going on (" +
                owner + "); choose another folder, or end that run");
  }
  if (!isLocked_) return;
  // A disk that is full keeps no name. The lock holds nevertheless.
  const std::string owner = ownerText();
  if (::ftruncate(lock_, 0) == 0) {
    [[maybe_unused]] const ssize_t size = ::pwrite(lock_, owner.data(), owner.size(), 0);
  }
}

void CheckpointFolder::beginStep(std::int64_t step) {
  const std::string own = stepFolder(path_, step);
  if (std::filesystem::exists(own + "/" + Manifest::kFileName)) {
    throw Error(own + " has a checkpoint already; choose another folder, or resume from it");
  }
  makeFolder(own);
  syncFolder(path_);
}

void writeManifest(const std::string& own, const std::string& shared, const Manifest& manifest) {
  requireComplete(manifest);
  for (const BlockFile& file : manifest.files) {
    const std::string name = own + "/" + file.file;
    const auto size = fileSize(name);
    if (size == file.bytes) continue;
    throw Error(name + (size ? " has not the bytes that its rank has written" : " is missing") +
                "; do all ranks share the folder " + shared + "?");
  }
  // The names of files first: each rank has synced the folder, but perhaps on another host.
  syncFolder(own);
  writeWholeFile(own + "/" + Manifest::kFileName, manifestText(manifest));
  syncFolder(own);
}

void CheckpointFolder::finishStep(const Manifest& manifest) {
  writeManifest(stepFolder(path_, manifest.step), path_, manifest);
  syncFolder(path_);
}

void CheckpointFolder::giveUpStep(std::int64_t step) {
  if (std::filesystem::exists(stepFolder(path_, step) + "/" + Manifest::kFileName)) return;
  removeCheckpoint(path_, step);
}

void CheckpointFolder::removeAfter(std::int64_t step) {
  for (const std::int64_t later : checkpointSteps(path_)) {
    if (later > step) removeCheckpoint(path_, later);
  }
}

void CheckpointFolder::keepNewest(int count) {
  if (count < 1) throw Error("at least one checkpoint must be kept");
  const std::vector<std::int64_t> steps = checkpointSteps(path_);
  for (std::size_t i = 0; i + static_cast<std::size_t>(count) < steps.size(); ++i) {
    removeCheckpoint(path_, steps[i]);
  }
}

void makeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && !std::filesystem::is_directory(path, error)) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (error) throw writeError("make the folder", path, error.value());
}

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
