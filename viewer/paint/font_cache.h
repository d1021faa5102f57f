#pragma once

#include <QFont>
#include <QFontMetrics>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "chart/draw/text_width.h"

namespace pipetrace {

/// The fonts of a chart and the widths of texts in them, kept from frame to frame. For the GUI
/// thread only.
class FontCache {
 public:
  struct Entry {
    explicit Entry(const QFont& f) : font(f), metrics(f) {}
    QFont font;
    QFontMetrics metrics;
    std::unordered_map<std::string, int> widths;
  };

  /// The reference is valid as long as the cache.
  Entry& entry(const TextStyle& style);
  int width(std::string_view text, const TextStyle& style);
  /// Returns width() as a function. It is valid as long as the cache.
  TextMeasure measure() {
    return [this](std::string_view text, const TextStyle& style) { return width(text, style); };
  }

 private:
  std::map<std::pair<int, bool>, Entry> entries_;
};

}  // namespace pipetrace
