#pragma once

#include <cstdint>
#include <string>

#include "schedule/plan.h"

namespace pipetrace {

/// A number that tells plans apart: all that matters for running them counts, the name does not.
/// Equal plans have equal fingerprints on every platform; plans that differ in a single number
/// have different ones, and others almost surely. For ranks that compare what they are about to
/// run; it is no protection against a forger.
///
/// It begins with h = 0x9e3779b97f4a7c15. Then each number n of the list below makes it
/// h = mix(h ^ n), where n has 64 bits (two's complement). The function mix is the last step of
/// SplitMix64 (Steele et al. 2014), in Stafford's variant 13:
///
///     x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9
///     x = (x ^ x >> 27) * 0x94d049bb133111eb
///     mix(x) = x ^ x >> 31
///
/// - The numbers of stages, of micro-batches and of ranks.
/// - For each rank the number of its actions, then each action: its code, stage, micro-batch,
///   backward stage and backward micro-batch. A part of a backward (Action::part) then has -1 and
///   its number. Data-parallel actions do not count: they change no result.
/// - The number of stages, and the first rank of each.
/// - In a bidirectional plan the number of stages, the second rank of each, and Placement::run; in
///   others 0 and 0.
/// - Where others have a stage on several ranks: for each stage the number of its ranks, and these;
///   then Placement::run.
/// - With replicas their number.
/// - updates.every: the number that all stages have, or 0; where they differ, -1 and the number of
///   each stage. Then updates.doubleBuffered (0 or 1), credits.
///
/// Codes: F 1, B 2, I 3, W 4, a fused pair 5, SEND_F 6, RECV_F 7, SEND_B 8, RECV_B 9, R 10.
std::uint64_t fingerprint(const Plan& plan);

/// As 16 hexadecimal digits, lower case.
std::string fingerprintText(std::uint64_t fingerprint);

}  // namespace pipetrace
