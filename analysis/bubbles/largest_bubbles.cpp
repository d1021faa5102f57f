#include "analysis/bubbles/largest_bubbles.h"

#include <algorithm>

namespace pipetrace {
namespace {

Nanoseconds lengthOf(const BubbleOfRank& bubble) {
  return bubble.second->end - bubble.second->begin;
}

bool comesFirst(const BubbleOfRank& a, const BubbleOfRank& b) {
  if (lengthOf(a) != lengthOf(b)) return lengthOf(a) > lengthOf(b);
  return a.first != b.first ? a.first < b.first : a.second->begin < b.second->begin;
}

/// Keeps the largest `most`, in no order; the last of the list is the least of them.
void cut(std::vector<BubbleOfRank>& list, std::size_t most) {
  const auto end = list.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(list.begin(), end - 1, list.end(), comesFirst);
  list.erase(end, list.end());
}

}  // namespace

std::vector<BubbleOfRank> largestBubbles(const Bubbles& bubbles, std::size_t most,
                                         const CountedSteps& counted) {
  std::vector<BubbleOfRank> list;
  if (most == 0) return list;
  // A long run has millions: they are cut to the largest whenever there are twice as many.
  Nanoseconds least = kNsMin;  // shorter ones are not among these
  for (std::uint32_t r = 0; r < bubbles.byRank.size(); ++r) {
    for (const Bubble& bubble : bubbles.byRank[r]) {
      if (bubble.end - bubble.begin < least || !counted.contains(bubble.step)) continue;
      list.emplace_back(r, &bubble);
      if (list.size() < 2 * most) continue;
      cut(list, most);
      least = lengthOf(list.back());
    }
  }
  if (list.size() > most) cut(list, most);
  std::sort(list.begin(), list.end(), comesFirst);
  return list;
}

}  // namespace pipetrace
