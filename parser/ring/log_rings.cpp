#include "parser/ring/log_rings.h"

#include <filesystem>
#include <system_error>

#include "trace/error.h"

namespace pipetrace {

namespace fs = std::filesystem;

LogRings::LogRings(const std::string& logPath) : folder_(fs::path(logPath).parent_path()) {}

std::string LogRings::pathOf(const std::string& name) const {
  return (fs::path(folder_) / name).string();
}

void LogRings::take(const std::string& name) {
  const std::string path = pathOf(name);
  std::error_code error;
  if (name.empty() || name.find('/') != std::string::npos || rings_.contains(name) ||
      !fs::is_regular_file(path, error)) {
    return;
  }
  try {
    rings_.emplace(name, std::make_unique<Ring>(path));
  } catch (const Error&) {
    if (!fs::exists(path, error)) return;  // the log has just been closed
    throw;
  }
}

bool LogRings::settle() {
  bool left = false;
  for (const auto& [name, ring] : rings_) left = ring->snapshot.settle() || left;
  return left;
}

const RingSnapshot* LogRings::find(const std::string& name) const {
  const auto found = rings_.find(name);
  return found == rings_.end() ? nullptr : &found->second->snapshot;
}

}  // namespace pipetrace
