#include "runtime/control/verdict/beat.h"

#include <algorithm>

namespace pipetrace {

namespace {

constexpr Nanoseconds kShortest = 100 * kNsPerMs;
constexpr int kBeatsOfSilence = 5;  // fewer may be missed by chance

}  // namespace

Nanoseconds beatOf(int worldSize) {
  return std::clamp<Nanoseconds>(worldSize * 4 * kNsPerMs, kShortest, kNsPerSecond);
}

FailureLimits limitsAt(Nanoseconds beat, FailureLimits limits) {
  const Nanoseconds longer = std::max<Nanoseconds>(beat - kShortest, 0);
  limits.settle += longer;
  limits.alone += 2 * longer;
  limits.lostPeer += 2 * longer;  // stays longer than `alone`: it is the last cause to count
  limits.stall.silence = std::max(limits.stall.silence, kBeatsOfSilence * beat);
  if (limits.silence > 0) limits.silence = std::max(limits.silence, kBeatsOfSilence * beat);
  return limits;
}

FailureLimits limitsInTree(Nanoseconds beat, int levels, FailureLimits limits) {
  limits.settle = std::max(limits.settle, 500 * kNsPerMs);
  limits.alone = std::max(limits.alone, 2 * kNsPerSecond);
  limits.lostPeer = std::max(limits.lostPeer, 3 * kNsPerSecond);
  limits.stall.silence = std::max(limits.stall.silence, kBeatsOfSilence * beat * levels);
  if (limits.silence > 0) limits.silence = std::max(limits.silence, kBeatsOfSilence * beat);
  return limits;
}

}  // namespace pipetrace
