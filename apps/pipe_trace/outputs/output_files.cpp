#include "apps/pipe_trace/outputs/output_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "parser/byte_source.h"
#include "parser/csv_format.h"
#include "parser/find_logs.h"
#include "parser/own_profile.h"
#include "parser/trace_reader.h"
#include "trace/error.h"
#include "trace/files/file_behind.h"
#include "trace/files/output_names.h"
#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

bool isBelow(const fs::path& file, const fs::path& folder) {
  const auto [inFolder, inFile] =
      std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return inFolder == folder.end() && inFile != file.end();
}

/// Whether both are one file, whatever its names.
bool isSame(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return a == b || fs::equivalent(a, b, error);
}

[[noreturn]] void refuseInput(const std::string& output) {
  throw Error(fmt::format("{} is an input; choose another name for the output", output));
}

/// Whether writing `output` would replace something that `input` names.
bool isRead(const fs::path& output, const std::string& input) {
  if (input == "-") return false;
  const fs::path behind = fileBehind(input);
  if (isSame(behind, output)) return true;
  std::error_code error;
  return fs::is_directory(behind, error) && isBelow(output, behind) &&
         output.filename().string().starts_with(log_format::kFilePrefix);
}

/// Whether `folder` is searched for files of which `file` is one, read or left out.
bool isFoundIn(const std::string& folder, const fs::path& file, bool asTexts) {
  try {
    Diagnostics unused;  // reading the folder reports the same
    const std::vector<FoundLog> found = findLogs(folder, unused, asTexts);
    return std::any_of(found.begin(), found.end(),
                       [&](const FoundLog& log) { return isSame(fileBehind(log.path), file); });
  } catch (const Error&) {
    return false;  // nothing in it; reading it reports that
  }
}

/// Whether the file holds only a profile that pipe-trace has written, or has begun to write.
bool isOwn(const fs::path& file) {
  ByteSource source(file.string());
  const std::string_view head = source.peek(TraceReader::kProbeSize);
  return head.find_first_not_of("[ \n") == std::string_view::npos || isOwnProfile(head) ||
         head.starts_with(kCsvHeader);
}

/// Throws Error for a file in a folder among the inputs, unless pipe-trace wrote the file.
void refuseFound(const std::string& output, const fs::path& file, const LoadRunOptions& load) {
  std::error_code error;
  if (!fs::is_regular_file(file, error) || isOwn(file)) return;
  for (const std::string& input : load.inputs) {
    if (input == "-" || !fs::is_directory(input, error)) continue;
    if (!isFoundIn(input, file, !load.reading.pattern.empty())) continue;
    throw Error(fmt::format(
        "{} is in the input folder {} and is no profile that pipe-trace wrote; choose another name "
        "for the output, or move that file away",
        output, input));
  }
}

}  // namespace

void checkOutputFiles(const std::vector<std::string>& outputs, const LoadRunOptions& load) {
  OutputNames names;
  for (const std::string& output : outputs) {
    names.add(output);
    if (output == "-") continue;
    const fs::path file = fileBehind(output);
    for (const std::string& input : load.inputs) {
      if (isRead(file, input)) refuseInput(output);
    }
    refuseFound(output, file, load);
  }
}

void checkOutputs(const std::vector<std::string>& outputs, const std::vector<LoadedFile>& loaded) {
  for (const std::string& output : outputs) {
    if (output == "-") continue;
    const fs::path file = fileBehind(output);
    for (const LoadedFile& input : loaded) {
      if (isSame(fileBehind(input.path), file)) refuseInput(output);
    }
  }
}

}  // namespace pipetrace
