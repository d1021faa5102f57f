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

struct Choice {
  BubbleClass of = {};
  BubblePattern pattern = {};
};

/// In the order of BubbleClass. The schedule's own classes have the calmest patterns.
constexpr std::array<Choice, kBubbleClassCount> kChoices = {{
    {BubbleClass::kNone, BubblePattern::kRising},
    {BubbleClass::kWarmUp, BubblePattern::kRisingDashes},
    {BubbleClass::kSteady, BubblePattern::kDots},
    {BubbleClass::kDrain, BubblePattern::kFallingDashes},
    {BubbleClass::kSync, BubblePattern::kUpright},
    {BubbleClass::kLateStart, BubblePattern::kLevel},
    {BubbleClass::kTransfer, BubblePattern::kFalling},
    {BubbleClass::kBlocked, BubblePattern::kGrid},
    {BubbleClass::kPeerWait, BubblePattern::kLevelDashes},
    {BubbleClass::kImbalance, BubblePattern::kCross},
    {BubbleClass::kUnknown, BubblePattern::kRising},
}};

constexpr bool hasEachClassItsOwn() {
  for (std::size_t i = 0; i < kChoices.size(); ++i) {
    if (static_cast<std::size_t>(kChoices[i].of) != i) return false;
    for (std::size_t j = 1; j < i; ++j) {
      if (kChoices[i].pattern == kChoices[j].pattern) return false;
    }
  }
  return kChoices.front().pattern == kChoices.back().pattern;
}
static_assert(hasEachClassItsOwn(), "give each class its row and a pattern that no other one has");

bool isDiagonal(HatchDirection direction) { return direction == kRising || direction == kFalling; }

}  // namespace

BubblePattern patternOf(BubbleClass bubbleClass) {
  return kChoices[static_cast<std::size_t>(bubbleClass)].pattern;
}

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
