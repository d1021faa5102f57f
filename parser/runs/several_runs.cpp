#include "parser/runs/several_runs.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "trace/log/log_format.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"
#include "trace/text/ranks_text.h"
#include "trace/text/shell_word.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

/// A path as an argument: a leading `-` would make it an option.
std::string argument(const std::string& path) {
  return printedShellWord(path.starts_with('-') && path != "-" ? "./" + path : path);
}

/// "2026-03-01 12:00:01 UTC".
std::string dateText(Nanoseconds time) {
  const auto seconds = static_cast<std::time_t>(time / kNsPerSecond);
  std::tm parts{};
  char text[32];
  if (::gmtime_r(&seconds, &parts) == nullptr) return {};
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

bool liesUnder(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

class RunText {
 public:
  RunText(std::span<const FileFacts> files, const FilesOfRun& run,
          const std::vector<std::string>& inputs)
      : files_(files), inputs_(inputs) {
    for (const std::size_t file : run) paths_.insert(files[file].path);
    for (const std::size_t file : run) facts_.push_back(&files[file]);
  }

  std::string line() const {
    std::string text = ranks() + " in " + countText(paths_.size(), "file");
    Timeline::Span span{kNsMax, kNsMin};
    for (const FileFacts* file : facts_) {
      if (!file->isDated()) continue;
      span = {std::min(span.begin, file->span.begin), std::max(span.end, file->span.end)};
    }
    if (span.begin > span.end) return text;
    return text + ", from " + dateText(span.begin) + ", " + formatDuration(span.end - span.begin) +
           " long";
  }

  std::string command() const {
    std::string words = folder();
    if (words.empty()) words = pattern();
    if (!words.empty()) return words;
    for (const FileFacts* file : facts_) words += (words.empty() ? "" : " ") + argument(file->path);
    return words;
  }

 private:
  std::string ranks() const {
    std::set<int> ranks;
    std::optional<int> worldSize;
    for (const FileFacts* file : facts_) {
      if (file->process.isRankGuessed) return "unnamed ranks";
      for (const auto& [rank, span] : file->ranks) ranks.insert(rank);
      if (file->worldSize) worldSize = file->worldSize;
    }
    return ranksText({ranks.begin(), ranks.end()}) +
           (worldSize ? " of " + std::to_string(*worldSize) : "");
  }

  /// The folder of its files, if the search in it finds no file of another run.
  std::string folder() const {
    fs::path common = fs::path(facts_.front()->path).parent_path();
    for (const FileFacts* file : facts_) {
      while (!common.empty() && !liesUnder(file->path, common)) {
        const fs::path parent = common.parent_path();
        if (parent == common) return {};
        common = parent;
      }
    }
    // In the folder of one machine, ranks would be counted from 0 again.
    if (common.filename().string().starts_with(log_format::kMachinePrefix)) {
      common = common.parent_path();
    }
    std::error_code error;
    const bool isSearched =
        std::any_of(inputs_.begin(), inputs_.end(), [&](const std::string& input) {
          const fs::path root =
              fs::path(input).has_filename() ? fs::path(input) : fs::path(input).parent_path();
          return fs::is_directory(input, error) && liesUnder(common, root);
        });
    const bool isAlone = std::all_of(files_.begin(), files_.end(), [&](const FileFacts& file) {
      return paths_.contains(file.path) || !liesUnder(file.path, common);
    });
    return isSearched && isAlone && !common.empty() ? argument(common.string()) : std::string();
  }

  /// A pattern for the names of its files, which lie in one folder.
  std::string pattern() const {
    constexpr std::size_t kWorthAPattern = 3;
    const std::string first = *paths_.begin();
    const std::size_t name = first.rfind('/') + 1;  // npos + 1 is 0
    std::size_t front = first.size();
    std::size_t back = first.size();
    for (const std::string& path : paths_) {
      const auto from = std::mismatch(first.begin(), first.end(), path.begin(), path.end());
      front = std::min<std::size_t>(front, from.first - first.begin());
      const auto to = std::mismatch(first.rbegin(), first.rend(), path.rbegin(), path.rend());
      back = std::min<std::size_t>(back, to.first - first.rbegin());
      if (path.rfind('/') + 1 != name) return {};
    }
    if (paths_.size() < kWorthAPattern || front <= name) return {};
    std::size_t shortest = first.size();
    for (const std::string& path : paths_) shortest = std::min(shortest, path.size());
    back = std::min(back, shortest - front);
    const std::string prefix = first.substr(0, front);
    const std::string suffix = first.substr(first.size() - back);
    std::error_code error;
    std::size_t found = 0;
    const fs::path folder = name == 0 ? fs::path(".") : fs::path(first.substr(0, name));
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      const std::string path = first.substr(0, name) + it->path().filename().string();
      const bool fits =
          path.size() >= front + back && path.starts_with(prefix) && path.ends_with(suffix);
      if (fits && !paths_.contains(path)) return {};
      if (fits) ++found;
    }
    return found == paths_.size() ? argument(prefix) + "*" +
                                        (suffix.empty() ? std::string() : printedShellWord(suffix))
                                  : std::string();
  }

  std::span<const FileFacts> files_;
  const std::vector<std::string>& inputs_;
  std::set<std::string> paths_;
  std::vector<const FileFacts*> facts_;
};

}  // namespace

std::string severalRunsText(std::span<const FileFacts> files, const std::vector<FilesOfRun>& runs,
                            const std::vector<std::string>& inputs, const std::string& program) {
  std::string text = "the inputs hold " + std::to_string(runs.size()) +
                     " runs, which are not merged; read one of them, with the same options:\n";
  for (const FilesOfRun& one : runs) {
    const RunText run(files, one, inputs);
    text += "  " + run.line() + ":\n    " + program + " " + run.command() + "\n";
  }
  return text +
         "files of one run name one world size, overlap in time and hold a rank once at a time; "
         "later "
         "files of the same processes are parts of their run";
}

}  // namespace pipetrace
