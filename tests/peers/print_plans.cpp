// Prints the plans that stdin asks for, a line each: "NAME RANKS MICRO_BATCHES CHUNKS". Each plan
// comes as that line after '##', then its rows as in a schedule file. With --paddle-jobs or
// --paddle-jobs-and-transfers the rows are PaddlePaddle's job lists.
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

#include "schedule/build_schedule.h"
#include "schedule/file/paddle_job_list.h"
#include "schedule/file/schedule_file.h"

namespace {

std::string jobLists(const pipetrace::Plan& plan, bool transfers) {
  std::string text;
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    text += toText(paddleJobList(plan, rank, {.lr = false, .transfers = transfers})) + '\n';
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  try {
    std::string name;
    pipetrace::PlanSize size;
    while (std::cin >> name >> size.ranks >> size.microBatches >> size.chunks) {
      const pipetrace::Plan plan = pipetrace::buildSchedule(name, size);
      std::cout << "## " << name << ' ' << size.ranks << ' ' << size.microBatches << ' '
                << size.chunks << '\n'
                << (mode.empty() ? toCsv(plan)
                                 : jobLists(plan, mode == "--paddle-jobs-and-transfers"));
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
