#include "parser/runs/find_runs.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
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

constexpr Nanoseconds kMostBetween = 30LL * 24 * 3600 * kNsPerSecond;  ///< parts of a run

std::string_view folderOf(std::string_view path) {
  return path.substr(0, path.rfind('/') + 1);  // npos + 1 is 0
}

/// Files that lie in one stretch of time.
struct Sitting {
  FilesOfRun files;
  Timeline::Span span{kNsMax, kNsMin};  // of those with times since the epoch
  std::map<int, FilesOfRun> ranks;      // the files of each rank
  std::set<std::string> hosts;
  std::set<std::string_view> folders;
  bool hasForward = false;
  bool hasBackward = false;
  bool isRecording = false;

  void add(std::size_t index, const FileFacts& file) {
    files.push_back(index);
    if (file.isDated()) {
      span = {std::min(span.begin, file.span.begin), std::max(span.end, file.span.end)};
    }
    for (const auto& [rank, ofRank] : file.ranks) ranks[rank].push_back(index);
    hosts.insert(file.host);
    folders.insert(folderOf(file.path));
    hasForward = hasForward || file.hasForward;
    hasBackward = hasBackward || file.hasBackward;
    isRecording = isRecording || file.isRecording;
  }

  bool isDated() const { return span.begin <= span.end; }
};

bool sharesRank(const Sitting& sitting, const FileFacts& file) {
  return std::any_of(file.ranks.begin(), file.ranks.end(),
                     [&](const auto& rank) { return sitting.ranks.contains(rank.first); });
}

/// Whether their clocks may differ: the file holds other ranks, and all hosts are known and others.
bool isOfOtherHost(const Sitting& sitting, const FileFacts& file) {
  return !file.host.empty() && !sitting.hosts.contains("") && !sitting.hosts.contains(file.host) &&
         !sharesRank(sitting, file);
}

bool isAfter(const FileFacts& file, const Sitting& sitting) {
  if (!file.isDated() || !sitting.isDated() || file.span.begin <= sitting.span.end) return false;
  const bool hasForwardOnly = sitting.hasForward && !sitting.hasBackward && file.process.id.empty();
  return !hasForwardOnly && !sitting.isRecording && !isOfOtherHost(sitting, file);
}

bool isCopy(const FileFacts& a, const FileFacts& b) {
  const auto isSame = [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.begin == y.second.begin && x.second.end == y.second.end;
  };
  return a.events == b.events &&
         std::equal(a.ranks.begin(), a.ranks.end(), b.ranks.begin(), b.ranks.end(), isSame);
}

/// Whether two files hold one rank in a way that one run cannot.
bool doClash(const FileFacts& a, const FileFacts& b) {
  if (a.format != b.format || isCopy(a, b)) return false;
  if (!a.isLog && (!a.isDated() || !b.isDated())) return false;
  for (const auto& [rank, span] : a.ranks) {
    const auto other = b.ranks.find(rank);
    if (other == b.ranks.end()) continue;
    if (!areApart(span, other->second)) return !(a.isOurs && b.isOurs);
    if (!(span.begin < other->second.begin ? goesOn(a, b) : goesOn(b, a))) return true;
  }
  return false;
}

class RunFinder {
 public:
  explicit RunFinder(std::span<const FileFacts> files) : files_(files) {}

  std::vector<FilesOfRun> find() {
    for (const FilesOfRun& claim : byWorldSize()) {
      std::vector<Sitting> runs;
      for (const Sitting& sitting : sittingsOf(claim)) {
        for (Sitting& layer : withoutClashes(sitting)) addTo(runs, layer);
      }
      runs_.insert(runs_.end(), runs.begin(), runs.end());
    }
    std::stable_sort(runs_.begin(), runs_.end(), [](const Sitting& a, const Sitting& b) {
      return a.span.begin < b.span.begin;
    });
    std::vector<FilesOfRun> result;
    for (Sitting& run : runs_) {
      std::sort(run.files.begin(), run.files.end());
      result.push_back(std::move(run.files));
    }
    return result;
  }

 private:
  /// Files that name no world size may be of the run of those that do, if that is one.
  std::vector<FilesOfRun> byWorldSize() const {
    std::map<std::optional<int>, FilesOfRun> claims;
    for (std::size_t i = 0; i < files_.size(); ++i) claims[files_[i].worldSize].push_back(i);
    if (claims.size() == 2 && claims.contains(std::nullopt)) {
      FilesOfRun all(files_.size());
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
      return {all};
    }
    std::vector<FilesOfRun> list;
    for (auto& [size, files] : claims) list.push_back(std::move(files));
    return list;
  }

  std::vector<Sitting> sittingsOf(FilesOfRun files) const {
    std::stable_sort(files.begin(), files.end(), [&](std::size_t a, std::size_t b) {
      return files_[a].span.begin < files_[b].span.begin;
    });
    std::vector<Sitting> sittings;
    for (const std::size_t file : files) {
      if (sittings.empty() || isAfter(files_[file], sittings.back())) sittings.emplace_back();
      sittings.back().add(file, files_[file]);
    }
    return sittings;
  }

  /// Whether `holds` is true of any file of the sitting that has a rank of `file`.
  template <typename Holds>
  bool anyOfItsRanks(const Sitting& sitting, const FileFacts& file, const Holds& holds) const {
    return std::any_of(file.ranks.begin(), file.ranks.end(), [&](const auto& rank) {
      const auto others = sitting.ranks.find(rank.first);
      return others != sitting.ranks.end() &&
             std::any_of(others->second.begin(), others->second.end(),
                         [&](std::size_t other) { return holds(files_[other]); });
    });
  }

  bool clashes(const Sitting& sitting, const FileFacts& file) const {
    return anyOfItsRanks(sitting, file,
                         [&](const FileFacts& other) { return doClash(other, file); });
  }

  /// Splits files of one time where they clash. Those of one folder stay together if they can.
  std::vector<Sitting> withoutClashes(const Sitting& sitting) const {
    FilesOfRun files = sitting.files;
    std::sort(files.begin(), files.end());
    std::vector<Sitting> layers;
    for (const std::size_t file : files) {
      Sitting* best = nullptr;
      for (Sitting& layer : layers) {
        if (clashes(layer, files_[file])) continue;
        const std::string_view folder = folderOf(files_[file].path);
        const bool isNearer = layer.folders.contains(folder);
        if (best == nullptr || (isNearer && !best->folders.contains(folder))) best = &layer;
      }
      if (best == nullptr) best = &layers.emplace_back();
      best->add(file, files_[file]);
    }
    return layers;
  }

  /// Whether the sitting is a later part of the run.
  bool isPartOf(const Sitting& run, const Sitting& later) const {
    if (!run.isDated() || !later.isDated() || run.span.end > later.span.begin) return false;
    if (later.span.begin - run.span.end > kMostBetween) return false;
    const auto isSameRank = [](const auto& a, const auto& b) { return a.first == b.first; };
    const auto hasBefore = [&](const FileFacts& file) {
      return anyOfItsRanks(run, file, [&](const FileFacts& other) {
        return (other.format == file.format || (other.isOurs && file.isOurs)) &&
               goesOn(other, file);
      });
    };
    return std::equal(run.ranks.begin(), run.ranks.end(), later.ranks.begin(), later.ranks.end(),
                      isSameRank) &&
           std::all_of(later.files.begin(), later.files.end(), [&](std::size_t file) {
             return hasBefore(files_[file]) && !clashes(run, files_[file]);
           });
  }

  void addTo(std::vector<Sitting>& runs, const Sitting& sitting) const {
    const auto run = std::find_if(runs.rbegin(), runs.rend(), [&](const Sitting& earlier) {
      return isPartOf(earlier, sitting);
    });
    if (run == runs.rend()) {
      runs.push_back(sitting);
      return;
    }
    for (const std::size_t file : sitting.files) run->add(file, files_[file]);
  }

  std::span<const FileFacts> files_;
  std::vector<Sitting> runs_;
};

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

bool goesOn(const FileFacts& earlier, const FileFacts& later) {
  if (earlier.isLog || later.isLog) return false;
  if (!earlier.process.id.empty() && !later.process.id.empty()) {
    return earlier.process.id == later.process.id && earlier.process.run == later.process.run &&
           earlier.host == later.host;
  }
  return earlier.lastStep == kNotGiven || later.firstStep == kNotGiven ||
         later.firstStep >= earlier.lastStep;
}

std::vector<FilesOfRun> findRuns(std::span<const FileFacts> files) {
  return RunFinder(files).find();
}

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
