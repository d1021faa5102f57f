#include "analysis/what_if/run_changes.h"

#include <string_view>
#include <utility>

#include "trace/error.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {

IdealSet IdealSet::parse(const std::string& text) {
  const auto refuse = [&](const std::string& why) -> void {
    throw Error("--make-ideal " + text + ": " + why);
  };
  const std::string form = "write it as stage=3, rank=5, replica=1, kind=backward, worst=3% or all";
  IdealSet set;
  set.text = text;
  if (text == "all") return set;
  const std::string_view all(text);
  const std::size_t equals = std::min(all.find('='), all.size());
  const std::string_view what = all.substr(0, equals);
  std::string_view which = all.substr(std::min(equals + 1, all.size()));
  if (what == "kind") {
    // The kinds are those of --scale.
    try {
      set.kinds = parseScale("kind=" + std::string(which) + ":1").kinds;
    } catch (const Error&) {
      refuse("the kinds are " + scaleKinds());
    }
    set.of = Of::kKind;
    return set;
  }
  if (what == "worst") {
    if (!which.ends_with('%')) refuse(form);
    which.remove_suffix(1);
    const auto percent = parseNumber<double>(which);
    if (!percent || !(*percent > 0) || *percent > 100)
      refuse("a share is above 0 and at most 100 %");
    set.of = Of::kWorst;
    set.share = *percent / 100;
    return set;
  }
  constexpr std::pair<std::string_view, Of> kNumbered[] = {
      {"stage", Of::kStage}, {"rank", Of::kRank}, {"replica", Of::kReplica}};
  for (const auto& [word, of] : kNumbered) {
    if (what != word) continue;
    const auto number = parseNumber<int>(which);
    if (!number || *number < 0) refuse(form);
    set.of = of;
    set.number = *number;
    return set;
  }
  refuse(form);
  return set;
}

}  // namespace pipetrace
