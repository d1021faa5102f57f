#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "trace/testing/file_text.h"

namespace pipetrace {

/// Tests: a folder that the destructor removes, and the job logs in it.
class RecordedLog {
 public:
  RecordedLog() {
    std::string name = (std::filesystem::temp_directory_path() / "pipetrace.XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~RecordedLog() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  RecordedLog(const RecordedLog&) = delete;
  RecordedLog& operator=(const RecordedLog&) = delete;

  const std::string& folder() const { return folder_; }
  std::string path(int rank = 0) const { return folder_ + "/workerlog." + std::to_string(rank); }

  std::string text(int rank = 0) const { return test::fileText(path(rank)); }

  /// The text after `mark` ("Profiler Info: ") in each line that holds it.
  std::vector<std::string> lines(const std::string& mark, int rank = 0) const {
    std::vector<std::string> found;
    std::ifstream in(path(rank), std::ios::binary);
    for (std::string line; std::getline(in, line);) {
      const std::size_t at = line.find(mark);
      if (at != std::string::npos) found.push_back(line.substr(at + mark.size()));
    }
    return found;
  }

  /// The number after "key = " in the last line that holds `mark`; -1 if there is none.
  long long number(const std::string& mark, const std::string& key, int rank = 0) const {
    const std::vector<std::string> found = lines(mark, rank);
    if (found.empty()) return -1;
    const std::string wanted = key + " = ";
    const std::size_t at = found.back().find(wanted);
    return at == std::string::npos ? -1 : std::stoll(found.back().substr(at + wanted.size()));
  }

 private:
  std::string folder_;
};

}  // namespace pipetrace
