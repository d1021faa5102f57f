#pragma once

#include <cstdint>
#include <string_view>

namespace pipetrace {

/// Why a device was idle. kNone for events that are no bubble.
enum class BubbleClass : std::uint8_t {
  kNone,
  kWarmUp,
  kSteady,
  kDrain,
  kSync,
  kLaunch,
  kTransfer,
  kPeerWait,
  kImbalance,
  kUnknown,
};

inline constexpr int kBubbleClassCount = static_cast<int>(BubbleClass::kUnknown) + 1;

/// The name that profiles have: "warm_up", "steady", …; "" for kNone.
std::string_view bubbleClassName(BubbleClass bubbleClass);

/// The inverse; kUnknown for a text that names no class, kNone for "".
BubbleClass bubbleClassFromName(std::string_view name);

}  // namespace pipetrace
