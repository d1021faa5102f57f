#include "trace/untimed_steps.h"

#include <set>
#include <string>
#include <string_view>

#include "trace/text/log_numbers.h"

namespace pipetrace {

void addUntimedStep(RankInfo& info, std::int32_t step) {
  if (step < 0) return;
  if (!info.untimedSteps.empty()) info.untimedSteps += ',';
  info.untimedSteps += std::to_string(step);
}

std::vector<std::int32_t> untimedSteps(const Timeline& timeline) {
  std::set<std::int32_t> steps;
  for (const auto& [rank, info] : timeline.ranks) {
    std::string_view rest = info.untimedSteps;
    while (!rest.empty()) {
      const std::size_t comma = rest.find(',');
      if (const auto step = parseNumber<std::int32_t>(rest.substr(0, comma))) steps.insert(*step);
      rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
  }
  return {steps.begin(), steps.end()};
}

}  // namespace pipetrace
