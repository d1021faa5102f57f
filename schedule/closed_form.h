#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "schedule/build_schedule.h"
#include "schedule/costs.h"

namespace pipetrace {

/// The figures of a schedule by theory, without its plan.
struct ClosedForm {
  Nanoseconds length = 0;     ///< of a step whose ranks start together
  std::vector<int> peakLive;  ///< by rank: most activations of stages held at once
};

/// For equal stages and free transfers, without lr and optimizer. Takes `name` and `size` as
/// buildSchedule() does, and throws Error likewise. Returns nothing where no formula is known for
/// that size and those times.
///
/// p is the number of ranks, m of micro-batches, v of chunks per rank; s is a rank's number. F, B,
/// I, W are the times per stage: B of the whole backward, I and W of its halves. Length and peak of
/// rank s are:
///
/// R is the time of a recompute on every stage. Where it is above 0, only the schedules of the
/// first three lines have a formula.
///
/// FThenB, GPipe: (m + p - 1) (F + B) + m R; peak m.
/// 1F1B, PipeDream, PipeDream-2BW: the same length; peak min(m, p - s).
/// Eager1F1B: the same length; peak min(m, 2 (p - s) - 1).
/// Interleaved1F1B: ((v - 1) max(m, p) + m + p - 1) (F + B);
///     peak min(v m, (v - 1) r + 2 (p - s) - 1), r = the largest round, p where p divides m.
/// LoopedBFS: the same length; peak v m.
/// ZB-H1: m (F + I + W) + (p - 1) (F + I - W), and (m + p - 1) (F + I) + W for m < p;
///     peak min(m, p). Where W <= F and W <= I.
/// InterleavedZeroBubble: v m (F + I + W) + (p - 1) (F + I - W);
///     peak min(v m, (v - 1) r + p). Where W <= F, W <= I, and m >= p or v = 1 (then as ZB-H1).
/// ZB-H2: (3 m + p - 1 + max(p - m, 0)) F; peak min(m, 2 p - 1). Where F = I = W.
/// ZBV: (6 m + p - 1) F; peak min(2 p, m + 1 + s). Where F = I = W and m >= p.
/// V-Half: (6 m + max(6 ceil(p / 2) - 7, p - 1)) F; peak min(2 floor(p / 2) + 2, m + 1 + s). Where
///     F = I = W and m >= p.
/// V-Min: (6 m + 4 p - 5) F, with 7 for the 5 where 3 divides p, and 6 m F for p = 1;
///     peak 2 floor((p + 4) / 3). Where F = I = W, m >= p, and p is not 2, 5, 8 ....
/// DualPipe, DualPipeV: 3 d F + 2 B + (2 d - 1) I + W + (2 n - d - 2) FB; peak 2 d + 1.
///     Where n >= 2 d, W <= I <= F, B = I + W, FB >= F, FB >= B; for DualPipe m is even.
///
/// ForwardOnly: ((v - 1) max(m, p) + m + p - 1) F; peak 1, and 2 for p = 1 and v > 1. For one chunk
///     the bubble ratio is (p - 1) / (m + p - 1).
///
/// d: ranks from an outer one to the innermost (DualPipe: half of p, rounded up; DualPipeV: p).
/// n: micro-batches of a stream (DualPipe: m / 2; DualPipeV: m). FB: the fused pair. Where F = I
/// that leaves the innermost ranks the (d - 1) (FB + B - 3 W) of bubble of DualPipe's README.
///
/// Sources: Huang et al. 2019 (GPipe); Narayanan et al. 2021, section 2.2 (1F1B, interleaved);
/// Lamy-Poirier 2022, section 4; Qi et al. 2023, table 1 (ZB-H1, ZB-H2) and section 6 (ZBV).
/// Lengths of V-Half and V-Min, and peaks of ZBV for m < 2 p - 1, are those of their plans, tried
/// for p <= 12. The sizes that these leave out, and DualPipe's length, follow from the longest
/// chain of jobs.
std::optional<ClosedForm> closedForm(std::string_view name, const PlanSize& size,
                                     const StageCosts& each);

}  // namespace pipetrace
