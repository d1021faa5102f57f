// The job logs of a training that saves checkpoints.
#include <gmock/gmock.h>

#include <sstream>
#include <string>
#include <vector>

#include "runtime/engine/testing/resumed_case.h"
#include "runtime/testing/rank_processes.h"
#include "trace/testing/file_text.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing::engineOfCase;
using ::testing::HasSubstr;
using testing::kRowsOfStep;
using testing::ResumedCase;
using testing::rowsOfCase;
using testing::ScratchFolder;
using ::testing::SizeIs;

const ResumedCase kRecorded{.model = testing::CaseModel::kMlp};

std::string valueOf(const std::string& line, const std::string& key) {
  const std::size_t at = line.find(", " + key + " = ");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + key.size() + 5;
  return line.substr(begin, line.find_first_of(",;\n ", begin) - begin);
}

std::vector<std::string> linesWith(const std::string& log, const std::string& mark) {
  std::vector<std::string> found;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(mark) != std::string::npos) found.push_back(line);
  }
  return found;
}

// Three steps of training, one of an evaluation, one of training. It saves every two steps, and
// after each fit().
TEST(RecordedCheckpoints, TheCopyIsAJobBetweenStepsAndTheWritingAnEventBesideThem) {
  const ScratchFolder folder;
  EngineOptions options;
  options.logDirectory = folder.path("logs");
  Engine engine = engineOfCase(kRecorded, {.plan = {.ranks = 2}},
                               {.folder = folder.path("saved"), .everySteps = 2, .keep = 9},
                               std::move(options));
  DataSet rows = rowsOfCase(kRecorded);
  engine.fit(rows, {.stepsPerEpoch = 3});
  DataSet one = rows;
  one.rows = kRowsOfStep;
  engine.evaluate(one);
  engine.fit(rows, {.stepsPerEpoch = 1});
  engine.finish();
  for (const std::string name : {"workerlog.0", "workerlog.1"}) {
    const std::string log = test::fileText(folder.path("logs/" + name));
    std::vector<std::string> edges;
    std::vector<std::string> copies;  // their ids
    for (const std::string& line : linesWith(log, "Profiler Info: Job (")) {
      const std::string type = valueOf(line, "type");
      const bool isCopy = type == "checkpoint";
      if (isCopy) copies.push_back(valueOf(line, "id"));
      if (!isCopy && type != "lr" && type != "optimizer") continue;
      edges.push_back(type + " " + valueOf(line, "step") + valueOf(line, "phase"));
    }
    EXPECT_THAT(edges,
                ElementsAre("lr 0", "optimizer 0", "lr 1", "optimizer 1", "checkpoint 1", "lr 2",
                            "optimizer 2", "checkpoint 2", "lr 4", "optimizer 4", "checkpoint 4"))
        << log;
    std::vector<std::string> writings;
    for (const std::string& line : linesWith(log, "stream = checkpoint")) {
      EXPECT_THAT(line, HasSubstr("type = copy"));
      EXPECT_EQ(valueOf(line, "phase"), "");
      writings.push_back(valueOf(line, "job"));
    }
    EXPECT_THAT(writings, ElementsAreArray(copies));
    EXPECT_THAT(linesWith(log, "dropped = 0, errors = 0"), SizeIs(1)) << log;
  }
}

}  // namespace
}  // namespace pipetrace
