#include "viewer/paint/font_cache.h"

#include <QGuiApplication>

namespace pipetrace {
namespace {

constexpr std::size_t kMostWidths = 100'000;

}  // namespace

FontCache::Entry& FontCache::entry(const TextStyle& style) {
  const std::pair<int, bool> key(style.size, style.bold);
  const auto found = entries_.find(key);
  if (found != entries_.end()) return found->second;
  QFont font = QGuiApplication::font();
  font.setPixelSize(style.size);
  font.setBold(style.bold);
  return entries_.emplace(key, Entry(font)).first->second;
}

int FontCache::width(std::string_view text, const TextStyle& style) {
  Entry& e = entry(style);
  std::string key(text);
  const auto found = e.widths.find(key);
  if (found != e.widths.end()) return found->second;
  if (e.widths.size() >= kMostWidths) e.widths.clear();
  const int width = e.metrics.horizontalAdvance(
      QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())));
  e.widths.emplace(std::move(key), width);
  return width;
}

}  // namespace pipetrace
