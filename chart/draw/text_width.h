#pragma once

#include <string_view>

#include "chart/draw/text_style.h"

namespace pipetrace {

/// An upper estimate of the width in pixels of a text in a sans-serif font, for
/// where no font can be asked: the advance widths of DejaVu Sans, which is a wide one.
int estimatedTextWidth(std::string_view text, const TextStyle& style);

}  // namespace pipetrace
