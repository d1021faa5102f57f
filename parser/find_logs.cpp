#include "parser/find_logs.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include "parser/byte_source.h"
#include "parser/trace_reader.h"
#include "trace/error.h"
#include "trace/log/log_format.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
namespace lf = log_format;

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// The digits that `text` begins with, without leading zeros; they are removed from it.
std::string_view takeNumber(std::string_view& text) {
  const auto end =
      static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), isDigit) - text.begin());
  std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

std::optional<int> numberAfter(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto number = parseNumber<int>(name.substr(prefix.size()));
  return number && *number >= 0 && *number <= kHighestRank ? number : std::nullopt;
}

// Below a link that leads out of the folder, as that may lead anywhere: a run, its machines,
// theirs.
constexpr int kMostFoldersBelowLink = 3;
constexpr const char* kHowToReadFifo = "read it as a stream: pipe-trace - < ";
constexpr std::string_view kTraceEndings[] = {".json", ".json.gz", ".json.zst", ".pftrace",
                                              ".sqlite"};
constexpr std::string_view kTextEndings[] = {
    ".log", ".out", ".txt", ".log.gz", ".out.gz", ".txt.gz", ".log.zst", ".out.zst", ".txt.zst"};

bool hasEnding(std::string_view name, std::span<const std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) {
    return name.size() > ending.size() && name.ends_with(ending);
  });
}

bool isCompressed(const fs::path& path) {
  return ByteSource::plainName(path.native()) != path.native();
}

/// Whether the file begins as a job log, perhaps behind what its rank printed at first.
bool beginsAsJobLog(const fs::path& path) {
  constexpr std::size_t kBegin = std::size_t{1} << 20;
  try {
    return ByteSource(path.string()).peek(kBegin).find(lf::kMeta) != std::string_view::npos;
  } catch (const Error&) {
    return true;  // whoever reads it says why it cannot
  }
}

/// A few names of entries of a folder, so that a message shows which folder it was.
std::string glimpse(const fs::path& folder) {
  constexpr std::size_t kNames = 3;
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator() && names.size() <= kNames; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (names.empty()) return "it is empty";
  std::string text = "it holds ";
  for (std::size_t i = 0; i < std::min(kNames, names.size()); ++i) {
    text += (i > 0 ? ", " : "") + names[i];
  }
  return names.size() > kNames ? text + ", …" : text;
}

/// Whether `path` is `folder`, or in it; both without links.
bool isIn(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

/// Walks a folder and those in it.
class FolderSearch {
 public:
  FolderSearch(Diagnostics& diagnostics, std::span<const std::string_view> endings)
      : diagnostics_(diagnostics), endings_(endings) {}

  void search(const fs::path& folder) {
    struct stat status {};
    if (::stat(folder.c_str(), &status) == 0) seen_.emplace(status.st_dev, status.st_ino);
    fileSystem_ = status.st_dev;
    std::error_code error;
    root_ = fs::canonical(folder, error);
    lookInto({.path = folder}, true, nullptr);
  }

  std::vector<FoundLog> take() {
    logs_.insert(logs_.end(), std::make_move_iterator(traces_.begin()),
                 std::make_move_iterator(traces_.end()));
    return std::move(logs_);
  }

 private:
  struct Folder {
    fs::path path;
    fs::path link = {};  ///< the link that led out of the folder that is searched; empty: none did
    int belowLink = 0;   ///< how many folders it is below that link's target
  };
  /// The entries of a folder, each kind in natural order.
  struct Contents {
    std::vector<std::pair<int, fs::path>> logs;  ///< by their number
    std::vector<fs::path> traces;
    std::vector<Folder> machines;
    std::vector<Folder> folders;
  };

  void report(const fs::path& path, std::string message, std::string advice = {},
              Severity severity = Severity::kWarning) {
    diagnostics_.add({.severity = severity,
                      .file = path.string(),
                      .message = std::move(message),
                      .advice = std::move(advice)});
  }
  void note(const fs::path& path, std::string message, std::string advice = {}) {
    report(path, std::move(message), std::move(advice), Severity::kNote);
  }

  /// `nextRank`: in the folder of a machine, the rank of its first log.
  void lookInto(const Folder& folder, bool isRoot, int* nextRank) {
    const Contents contents = contentsOf(folder, isRoot);
    for (const auto& [number, path] : contents.logs) {
      logs_.push_back(
          {path.string(), nextRank == nullptr ? number : (*nextRank)++, FoundBy::kLogName});
    }
    for (const fs::path& path : contents.traces) {
      traces_.push_back({path.string(), std::nullopt, FoundBy::kEnding});
    }
    if (contents.logs.empty()) {
      int rank = 0;
      for (const Folder& machine : contents.machines) lookInto(machine, false, &rank);
    } else if (!contents.machines.empty()) {
      report(contents.machines.front().path,
             "folders of machines beside logs were left out: their ranks would be counted twice",
             "name such a folder to read it");
    }
    for (const Folder& inner : contents.folders) lookInto(inner, false, nullptr);
  }

  Contents contentsOf(const Folder& from, bool isRoot) {
    const fs::path& folder = from.path;
    Contents contents;
    std::error_code error;
    std::vector<fs::path> entries;
    fs::directory_iterator it(folder, error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      entries.push_back(it->path());
    }
    if (error && isRoot) {
      throw Error("cannot read the folder " + folder.string() + ": " + error.message());
    }
    if (error) report(folder, "cannot read the folder: " + error.message());
    std::sort(entries.begin(), entries.end(), [](const fs::path& a, const fs::path& b) {
      return naturallyBefore(a.filename().native(), b.filename().native());
    });
    for (const fs::path& entry : entries) sortIn(entry, from, contents);
    std::stable_sort(contents.logs.begin(), contents.logs.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    leaveOutCopies(contents);
    return contents;
  }

  /// Of the logs of a rank, takes the one that is not compressed. Beside a compressed log it may be
  /// no log, but what the rank printed.
  void leaveOutCopies(Contents& contents) {
    std::map<int, fs::path> taken;
    for (const bool compressed : {false, true}) {
      for (const auto& [number, path] : contents.logs) {
        if (isCompressed(path) != compressed) continue;
        const auto [other, isNew] = taken.emplace(number, path);
        if (isNew || isCompressed(other->second)) continue;
        if (!beginsAsJobLog(other->second)) other->second = path;
      }
    }
    std::erase_if(contents.logs, [&](const auto& log) {
      const fs::path& other = taken.at(log.first);
      if (log.second == other) return false;
      if (isCompressed(log.second)) {
        report(log.second, "was left out: " + other.filename().string() + " is there",
               "name it to read it instead");
      }
      return true;
    });
  }

  /// A folder in `from`, if it is to be searched; a note says that it is not.
  std::optional<Folder> folderAt(const fs::path& path, const Folder& from, dev_t fileSystem) {
    Folder folder{.path = path, .link = from.link, .belowLink = from.belowLink};
    std::error_code error;
    if (fs::is_symlink(fs::symlink_status(path, error))) {
      const fs::path target = fs::canonical(path, error);
      if (isIn(root_, target) || isIn(fs::canonical(from.path, error), target)) {
        note(path, "is a link to a folder that it is in, and was left out");
        return std::nullopt;
      }
      if (isIn(target, root_)) return Folder{.path = path};
      if (from.link.empty()) folder.link = path;
    }
    if (folder.link.empty()) return folder;
    if (fileSystem != fileSystem_) {
      note(path, "is on another file system, where links are not followed to, and was left out",
           "name it to read it as well");
      return std::nullopt;
    }
    if (!from.link.empty()) ++folder.belowLink;
    if (folder.belowLink <= kMostFoldersBelowLink) return folder;
    note(folder.link,
         "is a link, and folders more than " + std::to_string(kMostFoldersBelowLink) +
             " below it were left out",
         "name its target to search all of it");
    return std::nullopt;
  }

  void sortIn(const fs::path& path, const Folder& from, Contents& contents) {
    const std::string name = path.filename().string();
    if (name.starts_with('.')) return;
    const std::optional<int> rank = rankOfLogName(name);
    const bool fits = rank || hasEnding(name, endings_);
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
      if (fits) report(path, std::string("cannot be opened: ") + std::strerror(errno));
      return;
    }
    if (!S_ISDIR(status.st_mode) && !fits) return;
    if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) {
      // Opening one may wait for ever.
      const bool isFifoOfRank = rank && S_ISFIFO(status.st_mode);
      return report(
          path, "is no plain file and was left out",
          isFifoOfRank ? kHowToReadFifo + path.string() : "name it to read it all the same");
    }
    if (S_ISDIR(status.st_mode)) {
      const std::optional<Folder> folder = folderAt(path, from, status.st_dev);
      if (!folder || !seen_.emplace(status.st_dev, status.st_ino).second) return;
      (numberAfter(lf::kMachinePrefix, name) ? contents.machines : contents.folders)
          .push_back(*folder);
      return;
    }
    // Such as a link into /proc, where reading may wait for ever.
    if (status.st_size == 0 && status.st_dev != fileSystem_) {
      return report(path, "is an empty file on another file system and was left out",
                    "name it to read it all the same");
    }
    if (!seen_.emplace(status.st_dev, status.st_ino).second) return;
    if (rank) {
      contents.logs.emplace_back(*rank, path);
    } else {
      contents.traces.push_back(path);
    }
  }

  Diagnostics& diagnostics_;
  std::span<const std::string_view> endings_;
  std::vector<FoundLog> logs_;
  std::vector<FoundLog> traces_;
  fs::path root_;         // without links
  dev_t fileSystem_ = 0;  // of the root
  std::set<std::pair<dev_t, ino_t>> seen_;
};

}  // namespace

std::optional<int> rankOfLogName(const std::string& fileName) {
  return numberAfter(lf::kFilePrefix, ByteSource::plainName(fileName));
}

bool naturallyBefore(std::string_view a, std::string_view b) {
  std::string_view x = a;
  std::string_view y = b;
  while (!x.empty() && !y.empty()) {
    if (isDigit(x.front()) && isDigit(y.front())) {
      const std::string_view m = takeNumber(x);
      const std::string_view n = takeNumber(y);
      if (m.size() != n.size()) return m.size() < n.size();
      if (m != n) return m < n;
    } else if (x.front() != y.front()) {
      return static_cast<unsigned char>(x.front()) < static_cast<unsigned char>(y.front());
    } else {
      x.remove_prefix(1);
      y.remove_prefix(1);
    }
  }
  if (x.empty() != y.empty()) return x.empty();
  return a < b;
}

void refuseFifo(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) return;
  throw Error("cannot read " + path + ": it is a FIFO, and nobody may ever write to it; " +
              kHowToReadFifo + path);
}

std::vector<FoundLog> findLogs(const std::string& folder, Diagnostics& diagnostics, bool asTexts) {
  using Endings = std::span<const std::string_view>;
  FolderSearch search(diagnostics, asTexts ? Endings(kTextEndings) : Endings(kTraceEndings));
  search.search(folder);
  std::vector<FoundLog> found = search.take();
  if (!found.empty()) return found;
  if (asTexts) {
    throw Error("no log in the folder " + folder + ": " + glimpse(folder) +
                "; with --pattern it is searched for workerlog.<rank>, *.log, *.out and *.txt; "
                "name other files themselves");
  }
  throw Error("no job log in the folder " + folder + ": " + glimpse(folder) +
              "; logs are called workerlog.<rank> (workerlog.0, workerlog.1, …) and are in the "
              "folder itself or in machine<i>/. Traces end in .json, .json.gz, .json.zst, .pftrace "
              "or .sqlite. Logs of other programs are read with --pattern (docs/inputs.md)");
}

}  // namespace pipetrace
