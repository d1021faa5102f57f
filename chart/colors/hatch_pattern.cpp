#include "chart/colors/hatch_pattern.h"

#include <cmath>
#include <numbers>

namespace pipetrace {
namespace {

using enum HatchDirection;

struct Row {
  BubblePattern pattern = {};
  std::array<HatchLines, 2> lines = {};
  std::size_t count = 1;
};

constexpr double kDash = kHatchSpacing / 2.0;
constexpr double kDot = 1.5;

constexpr std::array<Row, kBubblePatternCount> kRows = {{
    {BubblePattern::kRising, {{{kRising}}}},
    {BubblePattern::kFalling, {{{kFalling}}}},
    {BubblePattern::kUpright, {{{kUpright}}}},
    {BubblePattern::kLevel, {{{kLevel}}}},
    {BubblePattern::kGrid, {{{kUpright}, {kLevel}}}, 2},
    {BubblePattern::kCross, {{{kRising}, {kFalling}}}, 2},
    {BubblePattern::kRisingDashes, {{{kRising, kDash}}}},
    {BubblePattern::kFallingDashes, {{{kFalling, kDash}}}},
    {BubblePattern::kLevelDashes, {{{kLevel, kDash}}}},
    {BubblePattern::kDots, {{{kLevel, kDot}}}},
}};

constexpr bool isInOrder() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].pattern) != i) return false;
  }
  return true;
}
static_assert(isInOrder(), "each pattern has its row, in the order of BubblePattern");

bool isDiagonal(HatchDirection direction) { return direction == kRising || direction == kFalling; }

}  // namespace

std::span<const HatchLines> linesOf(BubblePattern pattern) {
  const Row& row = kRows[static_cast<std::size_t>(pattern)];
  return std::span(row.lines).first(row.count);
}

int strokeShareOf(BubblePattern pattern) {
  double covered = 0;
  for (const HatchLines& lines : linesOf(pattern)) {
    covered += lines.drawn * (isDiagonal(lines.direction) ? std::numbers::sqrt2 : 1);
  }
  // In each square, upright and level lines cross once, diagonal ones twice.
  if (linesOf(pattern).size() > 1) covered -= isDiagonal(linesOf(pattern)[0].direction) ? 2 : 1;
  constexpr double kSquare = kHatchSpacing * kHatchSpacing;
  return static_cast<int>(std::lround(256 * covered / kSquare));
}

}  // namespace pipetrace
