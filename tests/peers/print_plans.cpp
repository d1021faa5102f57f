// Prints the plans that are asked for on stdin, a line each: "NAME RANKS MICRO_BATCHES CHUNKS".
// Each plan comes as that line behind '#', then its rows as a schedule file has them.
#include <exception>
#include <iostream>
#include <string>

#include "schedule/build_schedule.h"
#include "schedule/schedule_writer.h"

int main() {
  try {
    std::string name;
    pipetrace::PlanSize size;
    while (std::cin >> name >> size.ranks >> size.microBatches >> size.chunks) {
      std::cout << "# " << name << ' ' << size.ranks << ' ' << size.microBatches << ' '
                << size.chunks << '\n'
                << pipetrace::toCsv(pipetrace::buildSchedule(name, size));
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
