#pragma once

#include <cstdint>
#include <string>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// How wrong a host's clock is.
struct ClockSkew {
  Nanoseconds offset = 0;  ///< what it shows too much at the start of a run
  std::int64_t drift = 0;  ///< ns that it gains in each second after that (thousandths of a ppm)

  bool isZero() const { return offset == 0 && drift == 0; }
  /// Returns what it shows too much that long after the start of the run, rounded down.
  Nanoseconds after(Nanoseconds elapsed) const {
    __extension__ using Wide = __int128;
    const Wide gained = Wide{elapsed} * drift;
    const Wide second = kNsPerSecond;
    return offset +
           static_cast<Nanoseconds>(gained / second - static_cast<Wide>(gained % second < 0));
  }
};

/// The made-up host that a rank is said to run on.
struct MadeUpHost {
  std::string name;
  ClockSkew skew;
};

}  // namespace pipetrace
