#include "trace/text/display_name.h"

#include "trace/text/fallback_name.h"

namespace pipetrace {

std::string displayName(const Timeline& timeline, const Event& event) {
  if (event.name != 0) return std::string(timeline.strings[event.name]);
  return std::string(FallbackName(event).text());
}

std::string shortName(const Event& event) {
  if (!isCompute(event.kind)) return {};
  const bool isPair = event.kind == JobKind::kForwardBackward;
  const std::string letters(isPair ? "FB" : rowOf(event.kind).cell);
  return event.microBatch < 0 ? letters : letters + std::to_string(event.microBatch);
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
