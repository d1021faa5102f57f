#pragma once

#include <string>

namespace pipetrace::bench {

struct ConversionOptions {
  int threads = 1;
  bool bubbles = false;
  bool flows = false;
  bool phases = false;  ///< tell on standard error how long each phase took
};

/// What `pipe-trace INPUT -o OUTPUT` does: Perfetto's format for OUTPUT.pftrace, else Chrome JSON.
void convert(const std::string& input, const std::string& output, const ConversionOptions& options);

/// Reads the input and does no more.
void load(const std::string& input, const ConversionOptions& options);

}  // namespace pipetrace::bench
