#pragma once

#include "parser/chrome/elements.h"
#include "parser/trace_reader.h"

namespace pipetrace {

/// Reads Chrome Trace Event JSON, as an object or an array, gzipped or not. A profile that
/// writeChromeJson() wrote becomes the timeline that it was given, to the nanosecond. Any other
/// trace is read generically: complete events and pairs of begin and end, a rank per process, a
/// lane per thread, counters; what has no length is left out.
class ChromeJsonReader final : public TraceReader {
 public:
  /// `stretch`: a thread reads about so many bytes at a time.
  explicit ChromeJsonReader(ChromeReading reading = ChromeReading::kFast,
                            std::size_t stretch = kUsualStretch)
      : reading_(reading), stretch_(stretch) {}

  std::string_view formatName() const override { return "Chrome JSON"; }
  FormatMatch probe(std::string_view head) const override;
  ReadOutcome read(ByteSource& source, const ReadRequest& request, Timeline& timeline,
                   Diagnostics& diagnostics) const override;

 private:
  static constexpr std::size_t kUsualStretch = std::size_t{1} << 18;

  ChromeReading reading_;
  std::size_t stretch_;
};

}  // namespace pipetrace
