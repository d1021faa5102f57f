#include "apps/pipe_trace/inputs/glob_inputs.h"

#include <glob.h>

#include <filesystem>

#include "trace/error.h"

namespace pipetrace {

std::vector<std::string> inputsOf(const std::string& word) {
  std::error_code fault;
  const bool isPattern = word.find_first_of("*?[") != std::string::npos;
  if (!isPattern || std::filesystem::exists(word, fault)) return {word};
  glob_t found{};
  const int result = glob(word.c_str(), GLOB_MARK, nullptr, &found);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < found.gl_pathc; ++i) names.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  if (result != 0 || names.empty()) {
    throw Error("no file matches " + word + "; check the pattern");
  }
  return names;
}

}  // namespace pipetrace
