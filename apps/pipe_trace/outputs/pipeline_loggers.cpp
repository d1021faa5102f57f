#include "apps/pipe_trace/outputs/pipeline_loggers.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "parser/foreign/logs/pipeline_logger_writer.h"
#include "trace/error.h"
#include "trace/files/file_behind.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

bool isLoggerName(const std::string& name) {
  return name.starts_with("pipeline_rank") && name.ends_with(".json");
}

/// Throws Error for a file of another run, which would be read as part of this one.
void refuseOthers(const std::string& folder, const std::set<std::string>& own) {
  for (const std::string& file : pipelineLoggersIn(folder)) {
    const std::string name = fs::path(file).filename().string();
    if (own.contains(name)) continue;
    throw Error(fmt::format(
        "{} holds {}, of a rank that is not written now; choose another folder, or move it away",
        folder, name));
  }
}

}  // namespace

void requireOutside(const std::string& folder, const std::vector<std::string>& inputs) {
  const fs::path behind = fileBehind(folder);
  for (const std::string& input : inputs) {
    if (input == "-") continue;
    const fs::path outer = fileBehind(input);
    std::error_code error;
    if (!fs::is_directory(outer, error)) {
      if (outer.parent_path() != behind || !isLoggerName(outer.filename())) continue;
      throw Error(fmt::format("{} is an input; choose another folder than {}", input, folder));
    }
    const auto [inOuter, rest] =
        std::mismatch(outer.begin(), outer.end(), behind.begin(), behind.end());
    if (inOuter != outer.end()) continue;
    throw Error(
        fmt::format("{} is {}the input folder {}, where its files would be read as part of "
                    "the run; choose another folder",
                    folder, rest == behind.end() ? "" : "in ", input));
  }
}

std::vector<std::string> pipelineLoggersIn(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (isLoggerName(entry.path().filename().string())) files.push_back(entry.path().string());
  }
  return files;
}

std::string addPipelineLoggers(const Timeline& timeline, const std::string& folder,
                               OutputSet& files) {
  files.makeFolder(folder);
  std::set<std::string> names;
  std::size_t jobs = 0;
  for (const auto& [rank, info] : timeline.ranks) {
    const PipelineLoggerWriter logger(timeline, rank);
    if (logger.jobs() == 0) continue;
    const std::string path = pipelineLoggerPath(folder, rank);
    names.insert(fs::path(path).filename().string());
    logger.write(files.add(path));
    jobs += logger.jobs();
  }
  refuseOthers(folder, names);
  return fmt::format("wrote {}: {} jobs and messages of {} ranks\n", folder, jobs, names.size());
}

}  // namespace pipetrace
