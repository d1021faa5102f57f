#include "parser/profile/profile_origin.h"

#include "trace/checked_span.h"
#include "trace/error.h"

namespace pipetrace {

Nanoseconds profileOrigin(const Timeline& timeline, bool absoluteTime, int threads) {
  const Timeline::Span span = checkedSpan(timeline, threads);
  if (!absoluteTime) return span.begin;
  if (span.begin < 0) {
    throw Error(
        "cannot write times that count from the Unix epoch: the run begins before it; leave out "
        "--absolute-time");
  }
  return 0;
}

}  // namespace pipetrace
