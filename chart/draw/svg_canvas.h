#pragma once

#include <string>
#include <vector>

#include "chart/draw/canvas.h"
#include "chart/draw/chart_picture.h"

namespace pipetrace {

/// Draws into the text of an SVG 1.1 file, for any renderer: plain shapes with plain attributes.
/// It cuts shapes off at the clip itself, and puts texts last. The reason is ImageMagick's own
/// renderer, which draws no shape under a clip path, and none after a text whose font it lacks. A
/// text whose middle is outside the clip is left out; others are not cut off. Texts may hold any
/// bytes: those that XML cannot carry are replaced. Widths of texts are upper estimates.
class SvgCanvas final : public Canvas {
 public:
  /// `title`: the title of the document, which browsers show as its name.
  SvgCanvas(int width, int height, std::string_view title);

  void fill(PixelRect rect, Color color) override;
  void hatch(PixelRect rect, const Hatching& hatching) override;
  void columns(int top, int height, ColumnEdge edge, std::span<const Column> columns) override;
  void text(PixelRect box, std::string_view text, const TextStyle& style) override;
  int textWidth(std::string_view text, const TextStyle& style) override;
  void line(std::span<const PixelPoint> points, const Stroke& stroke) override;
  void curve(const std::array<PixelPoint, 4>& points, const Stroke& stroke) override;
  void polygon(std::span<const PixelPoint> corners, Color color) override;
  void veil(PixelRect rect, Color color, double opacity) override;
  void pushClip(PixelRect rect) override;
  void popClip() override;

  /// Returns the whole file. The canvas is empty afterwards.
  std::string finish();

 private:
  void rect(PixelRect rect, Color color, double opacity = 1);
  void path(std::string_view data, const Stroke& stroke);
  PixelRect clip() const;
  PixelRect clipped(const PixelRect& rect) const;

  std::string out_;
  std::string texts_;
  std::vector<PixelRect> clips_;  // each within the one before
};

/// Appends `text` as XML character data, also for attributes. Escapes `&`, `<`, `>` and quotes.
/// Replaces invalid UTF-8 and characters that XML 1.0 forbids by U+FFFD.
void appendXmlText(std::string& out, std::string_view text);

/// Returns a picture as an SVG file. `title`: of the document.
std::string renderSvg(const Drawing& drawing, const std::string& title);

/// Returns the chart as an SVG file. Throws Error for sizes that ChartPicture refuses.
std::string renderSvg(const ChartModel& model, const PictureOptions& options);

/// The same for a sorted timeline of which one picture is drawn.
std::string renderSvg(const Timeline& timeline, const PictureOptions& options,
                      const Theme& theme = themeOf(ThemeName::kPaper));

}  // namespace pipetrace
