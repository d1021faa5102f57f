#pragma once

#include <string>
#include <string_view>

namespace pipetrace::fuzz {

/// Makes a ring file (trace/log/ring_format.h) from few bytes, because the empty tables of a real
/// one would take a fuzzer's attention. The bytes are the header, kImageTexts texts, each put at
/// its place, and kImageSamples samples from slot 0 on. The rest is what follows the tables. The
/// file ends where the bytes do.
std::string ringOf(std::string_view image);

inline constexpr int kImageTexts = 4;
inline constexpr int kImageSamples = 3;

/// An image of two lanes, samples and anchors. Its jobs were written, were not written, had no time
/// yet, or were open.
std::string sampleRingImage();

}  // namespace pipetrace::fuzz
