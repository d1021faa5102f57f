#include "apps/pipe_trace/plan/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "chart/chart_model.h"
#include "chart/draw/svg_writer.h"
#include "parser/chrome/write/writer.h"
#include "parser/find_logs.h"
#include "trace/error.h"
#include "trace/files/file_behind.h"
#include "trace/log/log_format.h"
#include "trace/log/write_job_logs.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

constexpr int kNarrowPicture = 900;
constexpr int kWidePicture = 8000;
constexpr int kJobWidth = 26;  // pixels of a short job, so that it has room for its number

/// So wide that the short jobs have their numbers, as long as the picture stays one.
int pictureWidth(const ChartModel& model) {
  const Nanoseconds typical = std::max<Nanoseconds>(1, model.typicalJob());
  const double jobs =
      static_cast<double>(model.span().end - model.span().begin) / static_cast<double>(typical);
  return static_cast<int>(std::clamp(jobs * kJobWidth, 1.0 * kNarrowPicture, 1.0 * kWidePicture));
}

/// Its first line says what it is a log of; a plan may be replaced, a run may not.
bool isOfAPlan(const fs::path& log) {
  std::ifstream in(log, std::ios::binary);
  std::string line;
  std::getline(in, line);
  return line.find(log_format::kMeta) != std::string::npos &&
         line.find(fmt::format("{} = simulated", log_format::kClockKey)) != std::string::npos;
}

}  // namespace

PlanOutputs::PlanOutputs(const std::vector<std::string>& outputs) {
  for (const std::string& path : outputs) {
    std::error_code error;
    const bool isFolder = path.ends_with('/') || fs::is_directory(path, error);
    const std::string ending = fs::path(path).extension();
    if (!isFolder && ending != ".svg" && ending != ".json") {
      throw Error(
          fmt::format("cannot write {}: a plan is written as NAME.svg (picture), NAME.json "
                      "(Chrome Trace Event profile) or DIR/ (job logs)",
                      path.empty() ? "\"\"" : path));
    }
    targets_.push_back({path, isFolder});
  }
}

OutputFile& PlanOutputs::open(const std::string& path) {
  const std::string behind = fileBehind(path);
  if (std::find(taken_.begin(), taken_.end(), behind) != taken_.end()) {
    throw Error(path + " is to be written twice; name each output once");
  }
  taken_.push_back(behind);
  files_.push_back(std::make_unique<OutputFile>(path));
  return *files_.back();
}

void PlanOutputs::addText(const std::string& path, const std::string& text) {
  open(path).write(text);
}

void PlanOutputs::addRun(const Timeline& timeline, const std::string& caption) {
  for (const Target& target : targets_) {
    if (target.isFolder) {
      addLogs(target.path, timeline);
    } else if (target.path.ends_with(".svg")) {
      const ChartModel model(timeline);
      open(target.path).write(renderSvg(model, {.width = pictureWidth(model), .caption = caption}));
    } else {
      writeChromeJson(timeline, {}, open(target.path));
    }
  }
}

void PlanOutputs::addLogs(const std::string& folder, const Timeline& timeline) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(fmt::format("cannot make the folder {}: {}", folder, error.message()));
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::optional<int> rank = rankOfLogName(entry.path().filename());
    if (!rank) continue;
    if (!isOfAPlan(entry.path())) {
      throw Error(fmt::format("{} holds the logs of a run ({}); choose another folder for the plan",
                              folder, entry.path().filename().string()));
    }
    if (!timeline.ranks.contains(*rank)) stale_.push_back(entry.path());
  }
  for (const auto& [rank, info] : timeline.ranks) {
    const fs::path log =
        fs::path(folder) / (std::string(log_format::kFilePrefix) + std::to_string(rank));
    open(log).write(jobLogText(timeline, rank));
  }
}

void PlanOutputs::commit() {
  // A log that a larger plan left would be read as part of this one.
  for (const std::string& log : stale_) fs::remove(log);
  for (const auto& file : files_) file->commit();
}

}  // namespace pipetrace
