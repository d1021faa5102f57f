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

}  // namespace pipetrace
