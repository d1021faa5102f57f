#pragma once

#include "parser/chrome_reading.h"
#include "parser/trace_reader.h"

namespace pipetrace {

/// Reads Chrome Trace Event JSON, as an object or an array, gzipped or not. A profile that
/// writeChromeJson() wrote becomes the timeline that it was given, to the nanosecond. Any other
/// trace is read generically: complete events and pairs of begin and end, a rank per process, a
/// lane per thread, counters; what has no length is left out.
class ChromeJsonReader final : public TraceReader {
 public:
  explicit ChromeJsonReader(ChromeReading reading = ChromeReading::kFast) : reading_(reading) {}

  std::string_view formatName() const override { return "Chrome JSON"; }
  FormatMatch probe(std::string_view head) const override;
  ReadOutcome read(ByteSource& source, const ReadRequest& request, Timeline& timeline,
                   Diagnostics& diagnostics) const override;

 private:
  ChromeReading reading_;
};

}  // namespace pipetrace
