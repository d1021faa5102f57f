#include "parser/profile/profile_origin.h"

#include "trace/error.h"

namespace pipetrace {

Nanoseconds profileOrigin(const Timeline& timeline, bool absoluteTime, int threads) {
  const Timeline::Span span = timeline.span(threads);
  Nanoseconds length = 0;
  if (__builtin_sub_overflow(span.end, span.begin, &length)) {
    throw Error(
        "cannot write a profile that spans more than 292 years: the clock of one of its logs is "
        "wrong; leave that log out");
  }
  if (!absoluteTime) return span.begin;
  if (span.begin < 0) {
    throw Error(
        "cannot write times that count from the Unix epoch: the run begins before it; leave out "
        "--absolute-time");
  }
  return 0;
}

}  // namespace pipetrace
