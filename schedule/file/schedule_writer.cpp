#include "schedule/file/schedule_writer.h"

#include "schedule/file/plan_header.h"

namespace pipetrace {

std::string toCsv(const Plan& plan) {
  std::string text = headerFor(plan);
  for (const auto& actions : plan.ranks) {
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
