#include "runtime/checkpoint/checkpoint_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/checkpoint/checkpoint_steps.h"
#include "runtime/checkpoint/file_bytes.h"
#include "runtime/checkpoint/make_folder.h"
#include "trace/error.h"
#include "trace/files/output_file.h"
#include "trace/files/write_all.h"

namespace pipetrace {
namespace {

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

}  // namespace

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

}  // namespace pipetrace
