#pragma once

#include <cstdint>

#include "parser/trace_reader.h"

namespace pipetrace {

/// How the events of a Chrome trace are read.
enum class ChromeReading : std::uint8_t {
  kFast,       ///< by hand where events are plain, on several threads
  kByLibrary,  ///< one by one, all with the library: to compare with
};

/// Reads Chrome Trace Event JSON, as an object or an array, gzipped or not. A profile that
/// writeChromeJson() wrote becomes the timeline that it was given, to the nanosecond. Any other
/// trace is read generically: complete events and pairs of begin and end, a rank per process, a
/// lane per thread, and counters. Events without a length are left out.
class ChromeJsonReader final : public TraceReader {
 public:
  /// `blockSize`: a thread reads about this number of bytes at a time.
  explicit ChromeJsonReader(ChromeReading reading = ChromeReading::kFast,
                            std::size_t blockSize = kUsualBlock)
      : reading_(reading), blockSize_(blockSize) {}

  std::string_view formatName() const override { return "Chrome JSON"; }
  FormatMatch probe(std::string_view head) const override;
  ReadOutcome read(ByteSource& source, const ReadRequest& request, Timeline& timeline,
                   Diagnostics& diagnostics) const override;

 private:
  static constexpr std::size_t kUsualBlock = std::size_t{1} << 18;

  ChromeReading reading_;
  std::size_t blockSize_;
};

}  // namespace pipetrace
