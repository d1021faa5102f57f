#pragma once

#include <QTemporaryDir>
#include <string>

#include "chart/testing/logs.h"
#include "chart/testing/timelines.h"

namespace pipetrace {

/// A folder with the job logs of a run. The destructor removes it.
class TestLogs {
 public:
  explicit TestLogs(const TestRun& run = {}) { writeTestLogs(makeTestTimeline(run), path()); }
  std::string path() const { return folder_.path().toStdString(); }
  std::string file(const std::string& name) const { return path() + "/" + name; }

 private:
  QTemporaryDir folder_;
};

}  // namespace pipetrace
