// Writes the first inputs of the fuzzers. Use: write_seeds FOLDER.
// FOLDER/TARGET/N is input N of the program fuzz_TARGET.
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "parser/fuzz/seeds.h"
#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/forward_part.h"
#include "trace/error.h"
#include "trace/files/output_file.h"

namespace pipetrace {
namespace {

std::vector<std::string> schedules() {
  std::vector<std::string> texts;
  for (const std::string& name : scheduleNames()) {
    const Plan plan = buildSchedule(name, 3, 4);
    texts.push_back(toCsv(plan));
    texts.push_back(toCsv(addTransfers(CheckedPlan(plan), {.ahead = 2})));
    Plan part = forwardPart(plan);
    part.credits = 3;
    texts.push_back(toCsv(part));
  }
  return texts;
}

void writeSeeds(const std::string& folder) {
  std::filesystem::create_directories(folder);
  std::map<std::string, std::vector<std::string>> seeds = fuzz::makeSeeds(folder);
  seeds["schedule_file"] = schedules();
  for (const auto& [target, inputs] : seeds) {
    std::filesystem::create_directories(folder + "/" + target);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      writeWholeFile(folder + "/" + target + "/" + std::to_string(i), inputs[i]);
    }
  }
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "use: write_seeds FOLDER\n");
    return 2;
  }
  try {
    pipetrace::writeSeeds(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_seeds: %s\n", error.what());
    return 2;
  }
  return 0;
}
