#include "runtime/inspect/inspection_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "trace/error.h"
#include "trace/files/shared_folder.h"
#include "trace/files/write_all.h"

namespace pipetrace {
namespace {

using Json = nlohmann::ordered_json;

Json jsonOf(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

Json jsonOf(const std::optional<double>& value) { return value ? jsonOf(*value) : Json(nullptr); }

constexpr std::string_view kPrefix = "inspect_rank";
constexpr std::string_view kSuffix = ".jsonl";

std::string inFolder(const std::string& folder, int rank) {
  const std::string name = std::string(kPrefix) + std::to_string(rank) + std::string(kSuffix);
  return (std::filesystem::path(folder) / name).string();
}

/// The rank whose file has this name; -1: it is no such file.
int rankOf(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return -1;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(std::min(name.size(), kSuffix.size()));
  int rank = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), rank);
  return error == std::errc() && end == name.data() + name.size() ? rank : -1;
}

/// Leaves those that cannot be removed.
void removeFilesFrom(int rank, const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> old;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (rankOf(entry->path().filename().string()) >= rank) old.push_back(entry->path());
  }
  for (const std::filesystem::path& path : old) std::filesystem::remove(path, error);
}

}  // namespace

std::string inspectionLines(const StepInspection& step, int rank) {
  std::string lines;
  const auto begin = [&](int stage) {
    Json line = {{"step", step.step}, {"rank", rank}, {"stage", stage}};
    if (step.lossScale != 1) line["loss_scale"] = step.lossScale;
    return line;
  };
  for (const SentTensor& sent : step.sent) {
    Json line = begin(sent.stage);
    line["sent"] = logName(sent.kind);
    line["to_stage"] = sent.toStage;
    line["micro_batch"] = sent.microBatch;
    line["shape"] = sent.shape;
    line["type"] = c10::toString(sent.type);
    if (sent.figures) {
      line["mean"] = jsonOf(sent.figures->mean);
      line["deviation"] = jsonOf(sent.figures->deviation);
      line["least"] = jsonOf(sent.figures->least);
      line["greatest"] = jsonOf(sent.figures->greatest);
    }
    lines += line.dump() + "\n";
  }
  for (const GradientNorm& gradient : step.gradients) {
    Json line = begin(gradient.stage);
    line["parameter"] = gradient.parameter;
    line["gradient_norm_before"] = jsonOf(gradient.before);
    line["gradient_norm_after"] = jsonOf(gradient.after);
    lines += line.dump() + "\n";
  }
  return lines;
}

InspectionFile::InspectionFile(const std::string& folder, int rank, int ranks)
    : rank_(rank), path_(inFolder(folder, rank)) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error("cannot make the folder " + folder + ": " + error.message());
  if (rank == 0) removeFilesFrom(ranks, folder);
  file_ = OwnedFd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | kNotThroughLinks, 0666));
  if (!file_.isOpen()) {
    const int why = errno;
    throw Error("cannot write " + path_ + ": " + std::strerror(why) + "; " +
                (why == ELOOP ? kLinkAdvice : "choose another folder with --log-dir"));
  }
}

void InspectionFile::write(const StepInspection& step) {
  if (!failure_.empty()) return;
  const std::string lines = inspectionLines(step, rank_);
  std::string_view rest = lines;
  if (writeAll(file_.get(), rest)) return;
  failure_ = path_ + " is incomplete from step " + std::to_string(step.step) +
             " on: " + std::strerror(errno);
}

}  // namespace pipetrace
