#include "schedule/file/schedule_cell.h"

#include <algorithm>
#include <charconv>

namespace pipetrace {
namespace {

bool take(std::string_view& rest, std::string_view text) {
  if (!rest.starts_with(text)) return false;
  rest.remove_prefix(text.size());
  return true;
}

std::optional<Action> takeSingle(std::string_view& rest) {
  const auto stage = takeNumber(rest);
  if (!stage) return {};
  const std::string_view word = rest.substr(0, rest.find_first_of("0123456789.;)"));
  const auto* const row =
      std::find_if(kJobKinds.begin(), kJobKinds.end(),
                   [&](const JobKindRow& each) { return !each.cell.empty() && each.cell == word; });
  if (row == kJobKinds.end()) return {};
  take(rest, word);
  const auto microBatch = takeNumber(rest);
  if (!microBatch && !isDataParallel(row->kind)) return {};
  Action action{row->kind, *stage, microBatch.value_or(-1)};
  if (!mayHaveParts(row->kind) || !take(rest, ".")) return action;
  const auto part = takeNumber(rest);
  if (!part) return {};
  action.part = *part;
  action.parts = 0;
  return action;
}

std::optional<Action> parseFused(std::string_view rest) {
  const auto forward = take(rest, "(") ? takeSingle(rest) : std::nullopt;
  const auto backward = take(rest, ";") ? takeSingle(rest) : std::nullopt;
  if (!forward || !backward || !take(rest, ")OVERLAP_F_B") || !rest.empty()) return {};
  if (forward->kind != JobKind::kForward || backward->kind != JobKind::kBackward) return {};
  if (backward->isPart()) return {};
  return Action{JobKind::kForwardBackward, forward->stage, forward->microBatch, backward->stage,
                backward->microBatch};
}

}  // namespace

std::optional<int> takeNumber(std::string_view& text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return {};
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > kLargestPlanNumber) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<Action> parseAction(std::string_view cell) {
  if (cell == kAgreeCell) return Action{JobKind::kAllReduce, kAllStages, -1};
  if (cell.starts_with('(')) return parseFused(cell);
  const auto action = takeSingle(cell);
  return cell.empty() ? action : std::nullopt;
}

}  // namespace pipetrace
