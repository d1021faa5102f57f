#pragma once

#include <vector>

#include "schedule/costs.h"

namespace pipetrace {

/// The costs of a model that is cut into `count` stages, where it was cut into stages.size(): each
/// of these is even in itself. One that becomes v stages gives each 1/v of its times, of its blocks
/// and of the memory that is held. Stages that become one add up. Times and blocks add up to those
/// of all stages, to the nanosecond. Memory is rounded down, so that all chunks together never take
/// more than the stage. Messages stay as they are, and so does what a job needs while it runs
/// (StageCosts::working): of several stages it is the most.
std::vector<StageCosts> cutStages(const std::vector<StageCosts>& stages, int count);

/// The costs of a plan with `chunks` virtual stages a rank, from those of whole shares of the
/// model: `shares` has one stage a rank. In the model's order, share s becomes the virtual stages
/// s * chunks .. s * chunks + chunks - 1, wherever a schedule places them.
///
/// They are cut as cutStages() does. `hasMemory`: memory is in bytes. Else it counts the
/// activations of virtual stages, each of them 1. `shares` has no faults of jobs.
Costs splitOverChunks(const Costs& shares, int chunks, bool hasMemory);

/// The costs of whole shares from those of virtual stages, `chunks` of them for each share: times,
/// blocks and memory that is held are sums. Working memory and messages are the largest. Faults are
/// left out. The number of stages is a multiple of `chunks`.
Costs joinChunks(const Costs& stages, int chunks);

}  // namespace pipetrace
