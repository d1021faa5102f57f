#include "apps/pipe_run/config/configured_program.h"

#include <filesystem>

#include "apps/pipe_run/config/find_sample.h"

namespace pipetrace {

std::vector<std::string> commandOf(const RunConfig& config, const PipeRunOptions& options) {
  std::vector<std::string> command = {programOf(config, ownFolder()), "--config", config.file};
  if (!options.resume) return command;
  const std::string& from = *options.resume;
  const bool isStep = !from.empty() && from.find_first_not_of("0123456789") == std::string::npos;
  if (!from.empty() && !isStep && from != kNewestCheckpoint) {
    command.push_back("--checkpoint=" + std::filesystem::absolute(from).string());
  }
  command.push_back(isStep ? "--resume=" + from : "--resume");
  return command;
}

}  // namespace pipetrace
