#include "apps/pipe_run/config/configured_program.h"

#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/config/config_file.h"
#include "runtime/engine/config/run_config.h"
#include "trace/error.h"
#include "trace/text/suggestions.h"

namespace pipetrace {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "sample-";

bool isProgram(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

/// The names without their prefix.
std::vector<std::string> samplesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(kPrefix) && isProgram(entry->path())) {
      names.push_back(name.substr(kPrefix.size()));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

/// "char-transformer" for models/char_transformer/.
std::string sampleName(const std::string& directory) {
  const fs::path path = fs::path(directory).lexically_normal();
  std::string name = path.filename().string();
  if (name.empty()) name = path.parent_path().filename();
  std::replace(name.begin(), name.end(), '_', '-');
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

/// Empty: there is none of that name.
std::string sampleOf(const std::string& name, const std::string& samples) {
  const fs::path sample = fs::path(samples) / (std::string(kPrefix) + name);
  return isProgram(sample) ? sample.string() : "";
}

/// The program of a configuration file: `directory` itself if it is an executable file, from the
/// working folder or the file's. Else the sample of that name (`bert`, or the last part of
/// `models/bert`), sample-bert, in `samples`. Where `directory` is but a folder, `model_type` names
/// the sample. Throws Error as "FILE:LINE: …" with the samples that
/// there are.
std::string programOf(const RunConfig& config, const std::string& samples) {
  const std::string place = config.directoryLine > 0
                                ? placeIn(config.file, config.directoryLine) + ": directory: "
                                : config.file + ": ";
  if (config.directory.empty()) {
    throw Error(place + "it names no program; add directory, a path or one of the samples " +
                listed(samplesIn(samples)));
  }
  const fs::path fileFolder = fs::path(config.file).parent_path();
  for (const fs::path& path : {fs::absolute(config.directory), fileFolder / config.directory}) {
    if (isProgram(path)) return path.lexically_normal().string();
  }
  const std::string name = sampleName(config.directory);
  if (const std::string sample = sampleOf(name, samples); !sample.empty()) return sample;
  // A folder of the drivers' with a model whose type is a sample.
  if (!config.folder.empty() && !config.modelType.empty()) {
    const std::string sample = sampleOf(sampleName(config.modelType), samples);
    if (!sample.empty()) return sample;
  }
  const std::vector<std::string> names = samplesIn(samples);
  const std::string meant = nearestName(name, names);
  throw Error(place + shownText(config.directory) +
              " is neither a program nor a sample beside pipe-run; " +
              (meant.empty() ? "the samples are " + listed(names) : "did you mean " + meant + "?"));
}

/// The folder of this program, where its samples are.
std::string ownFolder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? "." : self.parent_path().string();
}

constexpr std::string_view kStepPrefix = "step_";  // of a checkpoint's folder

bool isStep(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

std::vector<std::string> commandOf(const RunConfig& config, const PipeRunOptions& options) {
  std::vector<std::string> command = {programOf(config, ownFolder()), "--config", config.file};
  if (!options.resume) return command;
  std::string from = *options.resume;
  if (!from.empty() && !isStep(from) && from != kNewestCheckpoint) {
    std::filesystem::path path = std::filesystem::absolute(from).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    const std::string last = path.filename().string();
    const bool isOfStep = last.starts_with(kStepPrefix) && isStep(last.substr(kStepPrefix.size()));
    from = isOfStep ? last.substr(kStepPrefix.size()) : "";
    command.push_back("--checkpoint=" + (isOfStep ? path.parent_path() : path).string());
  }
  command.push_back(isStep(from) ? "--resume=" + from : "--resume");
  return command;
}

}  // namespace pipetrace
