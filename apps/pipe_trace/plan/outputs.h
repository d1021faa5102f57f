#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/cli/profile_format.h"
#include "chart/colors/theme.h"
#include "trace/files/output_set.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The files and the text that `pipe-trace plan` gives: all appear, or none. Collect them with the
/// add functions, then commit.
class PlanOutputs {
 public:
  /// Pictures have the colours of `theme`, which must outlive this. Throws Error for an ending that
  /// is not supported, and for an output that is named twice.
  PlanOutputs(const std::vector<std::string>& outputs, const Theme& theme);

  /// Whether an output is a folder for job logs.
  static bool isFolder(const std::string& output);

  /// `timeline` must have its bubbles; `caption` stands under the title of a picture. Job logs and
  /// profiles show it `asLogged`, in the clocks of its hosts. Throws Error for a folder that holds
  /// the logs of a real run.
  void addRun(const Timeline& timeline, const Timeline& asLogged, const std::string& caption);
  /// `path` may be - for standard output.
  void addText(const std::string& path, const std::string& text);
  /// A line "wrote NAME" for each file that was added.
  const std::string& lines() const { return lines_; }
  /// Logs of an earlier plan that this one does not replace are removed.
  void commit() { files_.commit(); }

 private:
  struct Target {
    std::string path;
    std::optional<ProfileFormat> format;  ///< none: a folder for job logs
  };

  void addLogs(const std::string& folder, const Timeline& timeline);

  const Theme& theme_;
  std::vector<Target> targets_;
  OutputSet files_;
  std::string lines_;
};

}  // namespace pipetrace
