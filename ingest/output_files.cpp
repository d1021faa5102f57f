#include "ingest/output_files.h"

#include <algorithm>
#include <filesystem>

#include "parser/byte_source.h"
#include "parser/csv_writer.h"
#include "parser/find_logs.h"
#include "parser/own_profile.h"
#include "parser/trace_reader.h"
#include "trace/error.h"
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

/// Whether writing `output` would replace a log, or make one, in the folder that `input` names.
bool isLogIn(const std::string& input, const fs::path& output) {
  if (input == "-") return false;
  const fs::path behind = fileBehind(input);
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
                       [&](const FoundLog& log) { return isSameFile(log.path, file); });
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
void refuseFound(const std::string& output, const fs::path& file, const RunRequest& request) {
  std::error_code error;
  if (!fs::is_regular_file(file, error) || isOwn(file)) return;
  for (const std::string& input : request.inputs) {
    if (input == "-" || !fs::is_directory(input, error)) continue;
    if (!isFoundIn(input, file, !request.reading.pattern.empty())) continue;
    throw Error(output + " is in the input folder " + input +
                " and is no profile that pipe-trace wrote; choose another name for the output, or "
                "move that file away");
  }
}

}  // namespace

void checkOutputFiles(const std::vector<std::string>& outputs, const RunRequest& request) {
  OutputNames names;
  for (const std::string& output : outputs) {
    names.add(output);
    if (output == "-") continue;
    refuseInput(output, request.inputs);
    const fs::path file = fileBehind(output);
    for (const std::string& input : request.inputs) {
      if (isLogIn(input, file)) refuseAsInput(output);
    }
    refuseFound(output, file, request);
  }
}

void checkOutputs(const std::vector<std::string>& outputs, const std::vector<LoadedFile>& loaded) {
  std::vector<std::string> read;
  for (const LoadedFile& file : loaded) read.push_back(file.path);
  for (const std::string& output : outputs) refuseInput(output, read);
}

}  // namespace pipetrace
