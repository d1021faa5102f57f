#include "apps/pipe_trace/plan/outputs.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "apps/pipe_trace/outputs/picture.h"
#include "parser/find_logs.h"
#include "trace/error.h"
#include "trace/log/log_format.h"
#include "trace/log/rank_info_fields.h"
#include "trace/log/write_job_logs.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

/// Whether a log is of a plan, which may be replaced; a log of a run may not. Its first line says
/// it.
bool isOfAPlan(const fs::path& log) {
  std::ifstream in(log, std::ios::binary);
  std::string line;
  std::getline(in, line);
  return line.find(log_format::kMeta) != std::string::npos &&
         line.find(fmt::format("{} = simulated", rank_info_keys::kClock)) != std::string::npos;
}

}  // namespace

PlanOutputs::PlanOutputs(const std::vector<std::string>& outputs, const Theme& theme)
    : theme_(theme) {
  OutputNames names;
  for (const std::string& path : outputs) {
    const auto format = isFolder(path) ? std::nullopt : profileFormatOfFile(path);
    if (!isFolder(path) && !format) {
      throw Error(fmt::format(
          "cannot write {}: a plan is written as {} or DIR/ (job logs); --csv writes the schedule",
          path.empty() ? "\"\"" : path, profileFormatList()));
    }
    names.add(path);
    targets_.push_back({path, format});
  }
}

bool PlanOutputs::isFolder(const std::string& output) {
  std::error_code error;
  return output.ends_with('/') || fs::is_directory(output, error);
}

void PlanOutputs::addRun(const Timeline& timeline, const Timeline& asLogged,
                         const std::string& caption) {
  for (const auto& [path, format] : targets_) {
    if (!format) {
      addLogs(path, asLogged);
      lines_ += fmt::format("wrote {}: logs of {} ranks\n", path, timeline.ranks.size());
    } else if (format == ProfileFormat::kSvg) {
      addText(path, pictureOf(timeline, {.caption = caption}, theme_));
    } else {
      const ProfileSummary written = writeProfile(asLogged, *format, {}, files_.add(path));
      lines_ += fmt::format("wrote {}: {}\n", path, summaryText(written));
    }
  }
}

void PlanOutputs::addText(const std::string& path, const std::string& text) {
  files_.add(path, text);
  if (path != "-") lines_ += fmt::format("wrote {}\n", path);
}

void PlanOutputs::addLogs(const std::string& folder, const Timeline& timeline) {
  files_.makeFolder(folder);
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::optional<int> rank = rankOfLogName(entry.path().filename());
    if (!rank) continue;
    if (!isOfAPlan(entry.path())) {
      throw Error(fmt::format("{} holds the logs of a run ({}); choose another folder for the plan",
                              folder, entry.path().filename().string()));
    }
    // A log that a larger plan left would be read as part of this one.
    if (!timeline.ranks.contains(*rank)) files_.remove(entry.path());
  }
  for (const auto& [rank, info] : timeline.ranks) {
    files_.add(jobLogPath(folder, rank), jobLogText(timeline, rank));
  }
}

}  // namespace pipetrace
