#pragma once

#include "trace/error.h"

namespace pipetrace {

/// Another rank is gone, or has given up: what a rank sees of a failure that began elsewhere.
class PeerLost : public Error {
 public:
  using Error::Error;
};

}  // namespace pipetrace
