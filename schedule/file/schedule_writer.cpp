#include "schedule/file/schedule_writer.h"

#include "schedule/file/plan_header.h"

namespace pipetrace {

std::string toCsv(const Schedule& schedule) {
  std::string text = headerFor(schedule);
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
