#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "trace/nanoseconds.h"

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
  kBlocked,  ///< a message whose data was there could not begin: its line was taken
  kPeerWait,
  kImbalance,
  kUnknown,
};

/// Whether the schedule itself has such bubbles, so that no job is to blame for them.
constexpr bool isOfSchedule(BubbleClass bubbleClass) {
  return bubbleClass == BubbleClass::kWarmUp || bubbleClass == BubbleClass::kSteady ||
         bubbleClass == BubbleClass::kDrain;
}

inline constexpr int kBubbleClassCount = static_cast<int>(BubbleClass::kUnknown) + 1;

/// Idle time by class, in nanoseconds. Index: BubbleClass.
using ClassTimes = std::array<Nanoseconds, kBubbleClassCount>;

/// The classes in the order in which reports show them: the schedule's own, faults, the rest.
inline constexpr std::array kReportedClasses = {
    BubbleClass::kWarmUp,    BubbleClass::kSteady,   BubbleClass::kDrain,   BubbleClass::kPeerWait,
    BubbleClass::kImbalance, BubbleClass::kTransfer, BubbleClass::kBlocked, BubbleClass::kLaunch,
    BubbleClass::kSync,      BubbleClass::kUnknown};

/// Whether reports have that time of the class. Runs without lines have no kBlocked; they are
/// reported as if there were no such class.
constexpr bool isReported(BubbleClass bubbleClass, Nanoseconds time) {
  return bubbleClass != BubbleClass::kBlocked || time > 0;
}

/// The name that profiles have: "warm_up", "steady", …; "" for kNone.
std::string_view bubbleClassName(BubbleClass bubbleClass);

/// The inverse; kUnknown for a text that names no class, kNone for "".
BubbleClass bubbleClassFromName(std::string_view name);

}  // namespace pipetrace
