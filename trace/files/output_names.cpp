#include "trace/files/output_names.h"

#include <algorithm>
#include <utility>

#include "trace/error.h"
#include "trace/files/file_behind.h"

namespace pipetrace {

void OutputNames::add(const std::string& path) {
  std::string file = path == "-" ? path : fileBehind(path);
  if (std::find(files_.begin(), files_.end(), file) != files_.end()) {
    throw Error(path + " is to be written twice; name each output once");
  }
  files_.push_back(std::move(file));
}

void refuseInput(const std::string& output, const std::vector<std::string>& inputs) {
  if (output == "-") return;
  const bool isRead = std::any_of(inputs.begin(), inputs.end(), [&](const std::string& input) {
    return input != "-" && isSameFile(input, output);
  });
  if (isRead) refuseAsInput(output);
}

void refuseAsInput(const std::string& output) {
  throw Error(output + " is an input; choose another name for the output");
}

}  // namespace pipetrace
