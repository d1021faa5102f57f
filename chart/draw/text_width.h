#pragma once

#include <string_view>

#include "chart/draw/text_style.h"

namespace pipetrace {

/// An upper estimate of the width in pixels of a text in a sans-serif font, for use without a font.
/// Adds the advance widths of DejaVu Sans, which is a wide font.
int estimatedTextWidth(std::string_view text, const TextStyle& style);

}  // namespace pipetrace
