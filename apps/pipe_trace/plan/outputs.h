#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trace/files/output_file.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The files that `pipe-trace plan` writes: all appear, or none. Collect them with the add
/// functions, then commit. Standard output is none of them.
class PlanOutputs {
 public:
  /// Throws Error for names that cannot be meant: an ending that is not supported, a file or folder
  /// twice, a folder that holds the logs of a real run.
  explicit PlanOutputs(const std::vector<std::string>& outputs);

  /// `timeline` with its bubbles; `caption` stands under the title of a picture.
  void addRun(const Timeline& timeline, const std::string& caption);
  void addText(const std::string& path, const std::string& text);
  void commit();

 private:
  struct Target {
    std::string path;
    bool isFolder = false;
  };

  void addLogs(const std::string& folder, const Timeline& timeline);
  OutputFile& open(const std::string& path);

  std::vector<Target> targets_;
  std::vector<std::unique_ptr<OutputFile>> files_;
  std::vector<std::string> taken_;  // what the files really are
  std::vector<std::string> stale_;  // logs of an earlier plan
};

}  // namespace pipetrace
