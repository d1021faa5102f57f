#include "analysis/run/plans/in_order.h"

#include <algorithm>
#include <utility>

namespace pipetrace {
namespace {

constexpr int kNobody = -1;

/// An ascending subsequence, by its last number.
struct Chain {
  int length = 0;
  int unmoved = 0;  // its numbers that stand at their own place
  int last = kNobody;

  bool isBetterThan(const Chain& other) const {
    return std::pair(length, unmoved) > std::pair(other.length, other.unmoved);
  }
};

/// The best chain among those that end below a number (a Fenwick tree of maxima).
class BestBelow {
 public:
  explicit BestBelow(std::size_t size) : nodes_(size + 1) {}

  Chain below(std::size_t number) const {
    Chain best;
    for (std::size_t i = number; i > 0; i -= i & (~i + 1)) {
      if (nodes_[i].isBetterThan(best)) best = nodes_[i];
    }
    return best;
  }
  void add(const Chain& chain) {
    for (auto i = static_cast<std::size_t>(chain.last) + 1; i < nodes_.size(); i += i & (~i + 1)) {
      if (chain.isBetterThan(nodes_[i])) nodes_[i] = chain;
    }
  }

 private:
  std::vector<Chain> nodes_;
};

}  // namespace

std::size_t longestInOrder(std::span<const int> places) {
  std::vector<int> ends;  // by length: the least last number of an ascending subsequence
  for (const int place : places) {
    if (ends.empty() || ends.back() < place) {
      ends.push_back(place);
    } else {
      *std::lower_bound(ends.begin(), ends.end(), place) = place;
    }
  }
  return ends.size();
}

std::vector<bool> stayInOrder(std::span<const int> places) {
  BestBelow best(places.size());
  std::vector<int> before(places.size(), kNobody);  // by number: the one before it in its chain
  for (std::size_t i = 0; i < places.size(); ++i) {
    const int number = places[i];
    Chain chain = best.below(static_cast<std::size_t>(number));
    before[static_cast<std::size_t>(number)] = chain.last;
    ++chain.length;
    if (static_cast<std::size_t>(number) == i) ++chain.unmoved;
    chain.last = number;
    best.add(chain);
  }
  std::vector<bool> isKept(places.size(), false);  // by number
  for (int n = best.below(places.size()).last; n != kNobody;
       n = before[static_cast<std::size_t>(n)]) {
    isKept[static_cast<std::size_t>(n)] = true;
  }
  std::vector<bool> stays;
  stays.reserve(places.size());
  for (const int number : places) stays.push_back(isKept[static_cast<std::size_t>(number)]);
  return stays;
}

}  // namespace pipetrace
