#include "apps/pipe_run/config/configured_program.h"

#include <filesystem>
#include <string_view>

#include "apps/pipe_run/config/find_sample.h"

namespace pipetrace {
namespace {

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
