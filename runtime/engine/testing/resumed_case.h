#pragma once

#include <optional>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/testing/training_case.h"

namespace pipetrace::testing {

/// A training that is interrupted: of a model of eight blocks, with dropout, or of an MLP; with
/// AdamW or SGD.
struct ResumedCase {
  CaseModel model = CaseModel::kRich;
  bool isSgd = false;
};

inline constexpr int kRowsOfStep = 16;
inline constexpr int kStepsOfRun = 8;

DataSet rowsOfCase(const ResumedCase& trained);

/// Prints nothing, and says nothing unless `options` do. The strategy gets four micro-batches.
/// `options`: without what is the case's own.
Engine engineOfCase(const ResumedCase& trained, const Strategy& strategy,
                    CheckpointOptions checkpoints, EngineOptions options = {});

/// Trains in threads of this process.
std::vector<double> lossesUnder(const ResumedCase& trained, const Strategy& strategy,
                                CheckpointOptions checkpoints = {}, int steps = kStepsOfRun);

/// The last `count`.
std::vector<double> lastOf(std::vector<double> all, std::size_t count);

/// The place of a rank whose peers are on this host.
ProcessEnv envOfRank(int rank, int ranks, int port);

}  // namespace pipetrace::testing
