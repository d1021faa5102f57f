#pragma once

namespace pipetrace {

struct MeasuredPlan;

/// Renumbers the second stages of ranks that have two where the pipeline runs back through them, as
/// the times show. Then stages s and 2 p - 1 - s are on rank s. Logs that name chunks and no
/// stages are read as if stage p + s were on rank s. In such a plan a micro-batch would be on rank
/// 1's second stage before rank 0 had worked on it. Returns whether it did so. Needs all ranks'
/// logs. Linear in the plan.
bool turnVShaped(MeasuredPlan& measured);

}  // namespace pipetrace
