#include "trace/bubble_class.h"

#include <algorithm>

namespace pipetrace {
namespace {

/// Whether all that the row must say is there.
constexpr bool isComplete(const BubbleClassRow& row) {
  const auto isThere = [](const char* text) { return *text != '\0'; };
  const auto areThere = [](BubbleTints::Forms forms) {
    return forms.light != 0 && forms.dark != 0;
  };
  if (row.mark == 0 || row.catapult.empty()) return false;
  const BubbleTints& tints = row.tints;
  if (!areThere(tints.paper) || !areThere(tints.paddle) || !areThere(tints.colourBlind))
    return false;
  if (row.of == BubbleClass::kNone) return true;
  const bool isBlamed = row.blame != BubbleBlame::kNobody;
  const bool isCompared = isThere(row.longer) && isThere(row.shorter);
  return !row.name.empty() && isThere(row.meaning) && isThere(row.advice) &&
         isThere(row.finding) != isBlamed && isCompared != isOfSchedule(row.of);
}

constexpr bool areComplete() {
  for (std::size_t i = 0; i < kBubbleClasses.size(); ++i) {
    const BubbleClassRow& row = kBubbleClasses[i];
    if (row.of != static_cast<BubbleClass>(i) || !isComplete(row)) return false;
  }
  return true;
}
static_assert(areComplete(), "a class of bubbles has one row, in the order of BubbleClass");

constexpr bool hasEachClassItsPattern() {
  for (std::size_t i = 1; i < kBubbleClasses.size(); ++i) {
    for (std::size_t j = 1; j < i; ++j) {
      if (kBubbleClasses[i].pattern == kBubbleClasses[j].pattern) return false;
    }
  }
  return kBubbleClasses.front().pattern == rowOf(BubbleClass::kUnknown).pattern;
}
static_assert(hasEachClassItsPattern(), "give the class a pattern that no other one has");

/// Whether the list has each class from `first` on once.
template <std::size_t N>
constexpr bool hasAll(const std::array<BubbleClass, N>& list, BubbleClass first) {
  for (int i = static_cast<int>(first); i < kBubbleClassCount; ++i) {
    if (std::count(list.begin(), list.end(), static_cast<BubbleClass>(i)) != 1) return false;
  }
  return static_cast<int>(N) == kBubbleClassCount - static_cast<int>(first);
}
static_assert(hasAll(kReportedClasses, BubbleClass::kWarmUp));
static_assert(hasAll(kCauses, kFirstCause));

}  // namespace

std::optional<BubbleClass> bubbleClassFromName(std::string_view name) {
  for (const BubbleClassRow& row : kBubbleClasses) {
    if (row.name == name || (!name.empty() && row.formerName == name)) return row.of;
  }
  return std::nullopt;
}

}  // namespace pipetrace
