#include "schedule/file/schedule_writer.h"

#include "schedule/file/plan_header.h"

namespace pipetrace {

std::string toCsv(const Plan& plan) { return headerFor(plan) + rowsText(plan.ranks); }

std::string rowsText(const std::vector<std::vector<Action>>& rows) {
  std::string text;
  for (const auto& actions : rows) {
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
