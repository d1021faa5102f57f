#include "apps/pipe_trace_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "trace/error.h"
#include "trace/file_behind.h"
#include "trace/log_format.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

bool isBelow(const fs::path& file, const fs::path& folder) {
  const auto [inFolder, inFile] =
      std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return inFolder == folder.end() && inFile != file.end();
}

/// Whether writing `output` would replace something that `input` names.
bool isRead(const fs::path& output, const std::string& input) {
  if (input == "-") return false;
  const fs::path behind = fileBehind(input);
  if (behind == output) return true;
  std::error_code error;
  if (fs::equivalent(behind, output, error)) return true;
  return fs::is_directory(behind, error) && isBelow(output, behind) &&
         output.filename().string().starts_with(log_format::kFilePrefix);
}

}  // namespace

ProfileFormat formatOf(const std::string& output, const PipeTraceOptions& options) {
  if (const auto format = profileFormatOfFile(output)) return *format;
  if (const auto format = profileFormatOf(options.format)) {
    if (!output.empty()) return *format;
  } else if (output == "-") {
    return ProfileFormat::kChromeJson;
  }
  throw Error(
      fmt::format("cannot write {}: a profile is {}, - for standard output, or with --format "
                  "any name",
                  output.empty() ? "\"\"" : output, profileFormatList()));
}

void checkOutputs(const PipeTraceOptions& options) {
  std::vector<fs::path> files;
  for (const std::string& output : options.outputs) {
    if (output == "-" && options.json) {
      throw Error("-o - and --json both want standard output; write the profile to a file");
    }
    formatOf(output, options);
    const fs::path file = output == "-" ? output : fileBehind(output);
    if (std::find(files.begin(), files.end(), file) != files.end()) {
      throw Error(fmt::format("{} is to be written twice; name each output once", output));
    }
    files.push_back(file);
    for (const std::string& input : options.load.inputs) {
      if (output != "-" && isRead(file, input)) {
        throw Error(fmt::format("{} is an input; choose another name for the output", output));
      }
    }
  }
}

}  // namespace pipetrace
