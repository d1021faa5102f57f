#pragma once

#include <string>

namespace pipetrace::bench {

struct ConversionOptions {
  int threads = 1;
  bool bubbles = false;
  bool flows = false;
  bool phases = false;  ///< print the time of each phase on standard error
};

/// Does what `pipe-trace INPUT -o OUTPUT` does. Writes Perfetto's format if the name of the output
/// ends in .pftrace, else Chrome JSON.
void convert(const std::string& input, const std::string& output, const ConversionOptions& options);

/// Reads the input and does nothing else.
void load(const std::string& input, const ConversionOptions& options);

}  // namespace pipetrace::bench
