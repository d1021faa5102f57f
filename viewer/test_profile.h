#pragma once

#include <QTemporaryDir>
#include <string>

#include "chart/test_timelines.h"

namespace pipetrace {

/// Writes the timeline's compute and transfer lanes as job logs, one file per rank, into `folder`.
void writeTestLogs(const Timeline& timeline, const std::string& folder);

/// A folder that holds the logs of a run, removed at the end.
class TestLogs {
 public:
  explicit TestLogs(const TestRun& run = {});
  std::string path() const { return folder_.path().toStdString(); }
  std::string file(const std::string& name) const { return path() + "/" + name; }

 private:
  QTemporaryDir folder_;
};

}  // namespace pipetrace
