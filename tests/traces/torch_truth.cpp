#include "tests/traces/torch_truth.h"
#include "trace/testing/folders.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace pipetrace::test {
namespace {

JobKind kindOf(const std::string& letter) {
  static const std::map<std::string, JobKind> kKinds = {{"F", JobKind::kForward},
                                                        {"B", JobKind::kBackward},
                                                        {"I", JobKind::kBackwardInput},
                                                        {"W", JobKind::kBackwardWeight}};
  return kKinds.at(letter);
}

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> list;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) list.push_back(cell);
  return list;
}

}  // namespace

std::int32_t TorchTruth::steps() const {
  std::int32_t count = 0;
  for (const auto& [job, times] : jobs) count = std::max(count, job.step + 1);
  return count;
}

int TorchTruth::rankOf(std::int32_t stage) const {
  for (const auto& [job, times] : jobs) {
    if (job.stage == stage) return job.rank;
  }
  return kNotGiven;
}

std::size_t TorchTruth::messages() const {
  std::size_t count = 0;
  for (const auto& [job, times] : jobs) {
    if (job.kind != JobKind::kForward || job.stage == 0) continue;
    if (rankOf(job.stage - 1) != job.rank) count += 2;
  }
  return count;
}

std::string torchRecording(const std::string& name) {
  return test::inSources("parser/testing/torch_gloo/") + name;
}

TorchTruth readTorchTruth(const std::string& name) {
  std::ifstream file(torchRecording(name) + "/truth.csv");
  if (!file) throw std::runtime_error("no truth of " + name);
  TorchTruth truth;
  const auto ratio = [&] {
    std::string line;
    std::getline(file, line);
    return std::stod(line.substr(line.find('=') + 1));
  };
  truth.ratioOfSleeps = ratio();
  truth.ratioOfOperators = ratio();
  std::string line;
  std::getline(file, line);  // names of columns
  while (std::getline(file, line)) {
    const std::vector<std::string> c = cells(line);
    const auto number = [&](std::size_t i) { return std::stoll(c.at(i)); };
    const auto small = [&](std::size_t i) { return static_cast<std::int32_t>(number(i)); };
    truth.jobs[{small(0), small(1), small(2), small(3), kindOf(c.at(4))}] = {
        number(5), number(6), number(5) - number(7), number(6) + number(8)};
  }
  return truth;
}

}  // namespace pipetrace::test
