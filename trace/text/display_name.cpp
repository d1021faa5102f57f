#include "trace/text/display_name.h"

#include "trace/text/made_up_name.h"

namespace pipetrace {

std::string displayName(const Timeline& timeline, const Event& event) {
  if (event.name != 0) return std::string(timeline.strings[event.name]);
  return std::string(MadeUpName(event).text());
}

std::string shortName(const Event& event) {
  const char* letter = nullptr;
  switch (event.kind) {
    case JobKind::kForward: letter = "F"; break;
    case JobKind::kBackward: letter = "B"; break;
    case JobKind::kBackwardInput: letter = "I"; break;
    case JobKind::kBackwardWeight: letter = "W"; break;
    case JobKind::kForwardBackward: letter = "FB"; break;
    case JobKind::kRecompute: letter = "R"; break;
    default: return {};
  }
  return event.microBatch < 0 ? letter : letter + std::to_string(event.microBatch);
}

std::string actionName(const Event& event) {
  std::string name = actionName(event.stage, shortName(event));
  if (event.part != kNotGiven && !name.empty()) name += "." + std::to_string(event.part);
  return name;
}

std::string actionName(int stage, const std::string& shortForm) {
  return stage < 0 || shortForm.empty() ? shortForm : std::to_string(stage) + shortForm;
}

}  // namespace pipetrace
