#include "runtime/starting_ranks/launch_log_folder.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "trace/error.h"
#include "trace/files/output_set.h"
#include "trace/log/log_format.h"
#include "trace/log/ring_format.h"

namespace pipetrace {
namespace {

bool isNumber(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool isRingFile(std::string_view name) {
  if (!name.starts_with(log_format::kFilePrefix)) return false;
  name.remove_prefix(log_format::kFilePrefix.size());
  if (!name.ends_with(ring_format::kFileSuffix)) return false;
  name.remove_suffix(ring_format::kFileSuffix.size());
  const std::size_t dot = name.find('.');
  return isNumber(name.substr(0, dot)) &&
         (dot == std::string_view::npos || isNumber(name.substr(dot + 1)));
}

bool isWorkerLog(std::string_view name) {
  if (isRingFile(name)) return true;
  if (name.ends_with(log_format::kCompressedEnding)) {
    name.remove_suffix(log_format::kCompressedEnding.size());
  }
  return name.starts_with(log_format::kFilePrefix) &&
         isNumber(name.substr(log_format::kFilePrefix.size()));
}

int clearLogFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error("cannot make the log folder " + folder + ": " + error.message());
  std::vector<std::filesystem::path> old;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    const bool isFile = entry->is_regular_file(ignored) && !entry->is_symlink(ignored);
    if (isFile && isWorkerLog(entry->path().filename().string())) old.push_back(entry->path());
  }
  if (error) throw Error("cannot read the log folder " + folder + ": " + error.message());
  OutputSet logs;
  for (const std::filesystem::path& path : old) logs.remove(path.string());
  logs.commit();
  return static_cast<int>(old.size());
}

}  // namespace pipetrace
