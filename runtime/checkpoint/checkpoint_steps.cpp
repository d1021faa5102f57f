#include "runtime/checkpoint/checkpoint_steps.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "runtime/checkpoint/manifest.h"
#include "trace/error.h"
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

}  // namespace pipetrace
