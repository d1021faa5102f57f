#include "trace/bubble_class.h"

#include <array>

namespace pipetrace {
namespace {

constexpr std::array<std::string_view, kBubbleClassCount> kNames = {
    "",         "warm_up", "steady",    "drain",     "sync",   "launch",
    "transfer", "blocked", "peer_wait", "imbalance", "unknown"};

}  // namespace

std::string_view bubbleClassName(BubbleClass bubbleClass) {
  return kNames[static_cast<std::size_t>(bubbleClass)];
}

BubbleClass bubbleClassFromName(std::string_view name) {
  for (int i = 0; i < kBubbleClassCount; ++i) {
    if (kNames[static_cast<std::size_t>(i)] == name) return static_cast<BubbleClass>(i);
  }
  return BubbleClass::kUnknown;
}

}  // namespace pipetrace
