#pragma once

#include "parser/testing/timelines.h"
#include "trace/timeline.h"

namespace pipetrace::test {

/// A run of two hosts, for tests. The clock of rank 1 shows `behind` ns less than rank 0's, and its
/// readings say so. Once aligned, it is the same run for any `behind`.
inline Timeline runOfTwoHosts(Nanoseconds behind) {
  Timeline run = oneFOneB(2, 4, 2);
  const Timeline::Span span = run.span();
  run.ranks.at(1).clockReadings = {{span.begin - behind, behind, 40},
                                   {span.end - behind, behind, 70}};
  for (Track& track : run.tracks) {
    if (track.rank != 1) continue;
    for (Event& event : track.events) {
      event.begin -= behind;
      event.end -= behind;
    }
  }
  for (CounterSeries& series : run.counters) {
    if (series.rank != 1) continue;
    for (CounterSample& sample : series.samples) sample.time -= behind;
  }
  return run;
}

}  // namespace pipetrace::test
