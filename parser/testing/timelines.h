#pragma once

#include <cstdint>
#include <string>

#include "trace/timeline.h"

/// Timelines for the tests of this folder.
namespace pipetrace::test {

inline constexpr Nanoseconds kEpoch = 1697793307213760986;  // an odd number of ns

/// A run of `steps` 1F1B steps: lr, optimizer, sends, receives that are posted as soon as their
/// lane is free, ids, actions as arguments, memory and loss counters.
Timeline oneFOneB(int ranks, int microBatches, int steps);

/// Anything a Timeline can hold, from a seed: overlaps, empty events, odd names, all fields.
Timeline randomTimeline(std::uint32_t seed);

/// A bubble of that class.
Timeline oneBubble(BubbleClass bubbleClass);

/// Makes of a profile of oneBubble(kSteady) what an earlier version wrote for a late start: the
/// same bytes but for its name, which is as long.
std::string withLaunchForSteady(std::string profile);

/// Every field of a timeline as text, one per line, so that two timelines can be compared and a
/// difference read. Ids of strings are shown as those strings.
std::string describe(const Timeline& timeline);

/// The job log of one rank of `timeline`, which must hold nothing that a log cannot.
std::string logOf(const Timeline& timeline, int rank);

}  // namespace pipetrace::test
