#pragma once

#include <string>

#include "parser/perfetto/reader.h"
#include "parser/testing/reading.h"

namespace pipetrace::test {

inline Reading readPerfetto(const std::string& bytes, const ReadRequest& request = {}) {
  return readWith<PerfettoReader>("p.pftrace", bytes, request);
}

}  // namespace pipetrace::test
