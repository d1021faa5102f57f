#pragma once

#include <string>
#include <string_view>

namespace pipetrace::fuzz {

/// A ring file (trace/log/ring_format.h) out of few bytes, because the empty tables of a real one
/// would take a fuzzer's attention: the header, kImageTexts texts, each put at its place,
/// kImageSamples samples from slot 0 on, then what follows the tables. The file ends where the
/// bytes do.
std::string ringOf(std::string_view image);

inline constexpr int kImageTexts = 4;
inline constexpr int kImageSamples = 3;

/// An image of two lanes, jobs that were written, that were not, that had no time yet and that were
/// open, samples and anchors.
std::string sampleRingImage();

}  // namespace pipetrace::fuzz
