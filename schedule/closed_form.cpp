#include "schedule/closed_form.h"

#include <algorithm>
#include <cstddef>

#include "schedule/builders/interleaved_order.h"

namespace pipetrace {
namespace {

using Formula = std::optional<ClosedForm>;

struct Given {
  int p;  // ranks
  int m;  // micro-batches
  int v;  // chunks
  Nanoseconds f;
  Nanoseconds b;
  Nanoseconds i;
  Nanoseconds w;
  Nanoseconds fb;
  Nanoseconds r;
};

/// `peak` gives the peak of a rank.
template <typename Peak>
ClosedForm form(const Given& given, Nanoseconds length, Peak peak) {
  ClosedForm closed{.length = length};
  for (int s = 0; s < given.p; ++s) closed.peakLive.push_back(peak(s));
  return closed;
}

int largestRound(const Given& given) {
  return interleavedOrder(given.p, given.m, given.v).firstRound;
}

/// The last rank does its recomputes one by one. The others run while their ranks wait for the
/// gradient that they are for.
Nanoseconds flushed(const Given& given) {
  return (given.m + given.p - 1) * (given.f + given.b) + given.m * given.r;
}

/// On a chunk, fewer micro-batches than ranks take as long as p micro-batches do.
Nanoseconds flushedInLoops(const Given& given) {
  return flushed(given) + (given.v - 1) * std::max(given.m, given.p) * (given.f + given.b);
}

Formula forwardOnlyForm(const Given& given) {
  const int loops = (given.v - 1) * std::max(given.m, given.p);
  const int peak = given.p == 1 && given.v > 1 ? 2 : 1;
  return form(given, (loops + given.m + given.p - 1) * given.f, [&](int) { return peak; });
}

Formula allForwards(const Given& given) {
  return form(given, flushedInLoops(given), [&](int) { return given.v * given.m; });
}

Formula oneFOneBForm(const Given& given) {
  return form(given, flushed(given), [&](int s) { return std::min(given.m, given.p - s); });
}

Formula eagerForm(const Given& given) {
  return form(given, flushed(given),
              [&](int s) { return std::min(given.m, 2 * (given.p - s) - 1); });
}

Formula interleavedForm(const Given& given) {
  const int before = (given.v - 1) * largestRound(given);
  return form(given, flushedInLoops(given),
              [&](int s) { return std::min(given.v * given.m, before + 2 * (given.p - s) - 1); });
}

Formula zeroBubbleForm(const Given& given) {
  // A longer W does not fit between the halves that the other ranks wait for.
  if (given.w > given.f || given.w > given.i) return {};
  if (given.m < given.p && given.v > 1) return {};
  const Nanoseconds chain = (given.v * given.m + given.p - 1) * (given.f + given.i);
  const Nanoseconds weights = (std::max(given.v * given.m - given.p, 0) + 1) * given.w;
  const int before = (given.v - 1) * largestRound(given);
  return form(given, chain + weights,
              [&](int) { return std::min(given.v * given.m, before + given.p); });
}

bool hasEqualHalves(const Given& given) { return given.f == given.i && given.f == given.w; }

Formula zbH2Form(const Given& given) {
  if (!hasEqualHalves(given)) return {};
  const Nanoseconds length = (3 * given.m + given.p - 1 + std::max(given.p - given.m, 0)) * given.f;
  return form(given, length, [&](int) { return std::min(given.m, 2 * given.p - 1); });
}

Formula zbVForm(const Given& given) {
  if (!hasEqualHalves(given) || given.m < given.p) return {};
  return form(given, (6 * given.m + given.p - 1) * given.f,
              [&](int s) { return std::min(2 * given.p, given.m + 1 + s); });
}

Formula vHalfForm(const Given& given) {
  if (!hasEqualHalves(given) || given.m < given.p) return {};
  const int idle = std::max((given.p + 1) / 2 * 6 - 7, given.p - 1);
  const int peak = 2 * (given.p / 2 + 1);
  return form(given, (6 * given.m + idle) * given.f,
              [&](int s) { return std::min(peak, given.m + 1 + s); });
}

Formula vMinForm(const Given& given) {
  if (!hasEqualHalves(given) || given.m < given.p || given.p % 3 == 2) return {};
  const int idle = std::max(4 * given.p - (given.p % 3 == 0 ? 7 : 5), 0);
  return form(given, (6 * given.m + idle) * given.f, [&](int) { return 2 * ((given.p + 4) / 3); });
}

/// `depth` and `stream` are d and n in the header.
Formula dualPipeForm(const Given& given, int depth, int stream) {
  if (stream < 2 * depth) return {};
  if (given.w > given.i || given.i > given.f || given.b != given.i + given.w) return {};
  if (given.fb < given.f || given.fb < given.b) return {};
  const Nanoseconds length = 3 * depth * given.f + 2 * given.b + (2 * depth - 1) * given.i +
                             given.w + (2 * stream - depth - 2) * given.fb;
  return form(given, length, [&](int) { return 2 * depth + 1; });
}

}  // namespace

std::optional<ClosedForm> closedForm(std::string_view name, const PlanSize& size,
                                     const StageCosts& each) {
  const PlanSize settled = settledSize(name, size);
  const std::string_view known = scheduleInfo(name).name;
  const Given given{
      .p = settled.ranks,
      .m = settled.microBatches,
      .v = settled.chunks,
      .f = each.forward,
      .b = each.backward,
      .i = each.backwardInput,
      .w = each.backwardWeight,
      .fb = each.forwardBackward < 0 ? each.forward + each.backward : each.forwardBackward,
      .r = each.recompute};
  const bool isFlushed = known == "FThenB" || known == "GPipe" || known == "1F1B" ||
                         known == "Eager1F1B" || known == "PipeDream" || known == "PipeDream-2BW";
  if (given.r > 0 && !isFlushed) return {};
  if (known == "FThenB" || known == "GPipe" || known == "LoopedBFS") return allForwards(given);
  if (known == "ForwardOnly") return forwardOnlyForm(given);
  if (known == "1F1B" || known == "PipeDream" || known == "PipeDream-2BW") {
    return oneFOneBForm(given);
  }
  if (known == "Eager1F1B") return eagerForm(given);
  if (known == "Interleaved1F1B") return interleavedForm(given);
  if (known == "ZB-H1" || known == "InterleavedZeroBubble") return zeroBubbleForm(given);
  if (known == "ZB-H2") return zbH2Form(given);
  if (known == "ZBV") return zbVForm(given);
  if (known == "V-Half") return vHalfForm(given);
  if (known == "V-Min") return vMinForm(given);
  if (known == "DualPipe" && given.m % 2 == 0) {
    return dualPipeForm(given, (given.p + 1) / 2, given.m / 2);
  }
  if (known == "DualPipeV") return dualPipeForm(given, given.p, given.m);
  return {};
}

}  // namespace pipetrace
