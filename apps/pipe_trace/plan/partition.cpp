#include "apps/pipe_trace/plan/partition.h"

#include <fmt/format.h>

#include <algorithm>

#include "trace/error.h"
#include "trace/text/bytes_text.h"

namespace pipetrace {

void requireSearchable(const PlanOptions& options) {
  try {
    requireSearchable(options.schedule);
  } catch (const Error& error) {
    throw Error(
        fmt::format("--blocks: {}, and then auto with the costs of --costs-out", error.what()));
  }
}

BestPartition partitionWithin(const Plan& plan, const BlockTable& blocks, std::int64_t limit,
                              const std::string& limitGb) {
  BestPartition found = bestPartition(CheckedPlan(plan), blocks, {.memoryLimit = limit});
  if (found.best.excess == 0) return found;
  const auto& peaks = found.best.peakMemory;
  const auto fullest = std::max_element(peaks.begin(), peaks.end());
  throw Error(fmt::format("no partition {} --limit {}: the best takes {} on rank {}, {} too much",
                          found.isProven ? "fits into" : "was found that fits into", limitGb,
                          bytesText(*fullest), fullest - peaks.begin(),
                          bytesText(found.best.excess)));
}

GivenCosts givenCostsOf(const BlockTable& blocks, const Plan& plan,
                        const BlockPartition& partition) {
  GivenCosts given = givenCosts(costsOf(blocks, plan, partition));
  if (blocks.hasMemory()) return given;
  for (GivenCosts::Values* const memory : {&given.activation, &given.freedByInput,
                                           &given.recomputed, &given.working, &given.weights}) {
    memory->clear();
  }
  return given;
}

}  // namespace pipetrace
