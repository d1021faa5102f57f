#pragma once

#include "trace/timeline.h"

namespace pipetrace {

/// A reader of traces sees one rank. Where that waits after each job anyway, a sum of gradients
/// that runs on beside other work looks like one that holds the rank up, and the reader lets the
/// job last until its end (parser/device_time/exposed_collectives.h). Other ranks of the run show
/// which it is: sums of one place in jobs of one kind, over all ranks, hold up nothing where one in
/// ten runs beside work or messages that came after its job. Jobs that were made longer by such
/// sums end with their work again.
///
/// Changes jobs with the times of a device's work that started collectives of replicas, and
/// nothing else. Uses that many threads, which makes no difference to the result.
void leaveOutSumsBesideJobs(Timeline& timeline, int threads);

}  // namespace pipetrace
