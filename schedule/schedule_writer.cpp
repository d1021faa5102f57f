#include "schedule/schedule_writer.h"

namespace pipetrace {

std::string toCsv(const Schedule& schedule) {
  std::string text;
  for (const auto& actions : schedule.ranks) {
    const char* separator = "";
    for (const Action& action : actions) {
      text += separator + toText(action);
      separator = ",";
    }
    text += '\n';
  }
  return text;
}

}  // namespace pipetrace
