#include "parser/find_logs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "parser/log_numbers.h"
#include "parser/trace_reader.h"
#include "trace/error.h"
#include "trace/log_format.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
namespace lf = log_format;

struct Numbered {
  int number = 0;
  fs::path path;
};

std::optional<int> numberAfter(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto number = parseNumber<int>(name.substr(prefix.size()));
  return number && *number >= 0 && *number <= kHighestRank ? number : std::nullopt;
}

/// Entries called `<prefix><number>`, by number; folders or plain files. Pipes and devices are left
/// out, as opening one may wait for ever.
std::vector<Numbered> entries(const fs::path& folder, std::string_view prefix, bool folders) {
  std::vector<Numbered> list;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    const auto number = numberAfter(prefix, it->path().filename().string());
    std::error_code ignored;  // a link to nowhere is simply none
    const bool fits = folders ? it->is_directory(ignored) : it->is_regular_file(ignored);
    if (number && fits) list.push_back({*number, it->path()});
  }
  if (error) {
    throw Error("cannot read the folder " + folder.string() + ": " + error.message());
  }
  std::sort(list.begin(), list.end(), [](const Numbered& a, const Numbered& b) {
    return a.number != b.number ? a.number < b.number : a.path < b.path;
  });
  return list;
}

/// A few names out of a folder, so that the reader of a message sees which one it was.
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

}  // namespace

std::optional<int> rankOfLogName(const std::string& fileName) {
  return numberAfter(lf::kFilePrefix, fileName);
}

std::vector<FoundLog> findLogs(const std::string& folder) {
  std::vector<FoundLog> logs;
  for (const Numbered& file : entries(folder, lf::kFilePrefix, false)) {
    logs.push_back({file.path.string(), file.number});
  }
  if (!logs.empty()) return logs;
  for (const Numbered& machine : entries(folder, lf::kMachinePrefix, true)) {
    for (const Numbered& file : entries(machine.path, lf::kFilePrefix, false)) {
      logs.push_back({file.path.string(), static_cast<int>(logs.size())});
    }
  }
  if (!logs.empty()) return logs;
  throw Error("no job log in the folder " + folder + ": " + glimpse(folder) +
              "; logs are called workerlog.<rank> (workerlog.0, workerlog.1, …), in the folder "
              "itself or in machine<i>/");
}

}  // namespace pipetrace
