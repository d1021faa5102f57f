#include "viewer/export/picture_file.h"

#include <QBuffer>
#include <QLineF>
#include <QList>
#include <QPainter>
#include <QPdfWriter>
#include <QPen>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "chart/draw/svg_writer.h"
#include "trace/error.h"
#include "viewer/paint/qt_canvas.h"

namespace pipetrace {

namespace {

/// Draws with lines and areas only, where QtCanvas sets pixels: for files of vectors. The painter
/// must be active; painter and fonts must outlive the canvas.
class PdfCanvas final : public Canvas {
 public:
  PdfCanvas(QPainter& painter, FontCache& fonts) : painter_(painter), areas_(painter, fonts) {}

  void fill(PixelRect rect, Color color) override { areas_.fill(rect, color); }
  void hatch(PixelRect rect, const Hatching& hatching) override;
  void columns(int top, int height, ColumnEdge edge, std::span<const Column> columns) override;
  void text(PixelRect box, std::string_view text, const TextStyle& style) override {
    areas_.text(box, text, style);
  }
  int textWidth(std::string_view text, const TextStyle& style) override {
    return areas_.textWidth(text, style);
  }
  void line(std::span<const PixelPoint> points, const Stroke& stroke) override {
    areas_.line(points, stroke);
  }
  void curve(const std::array<PixelPoint, 4>& points, const Stroke& stroke) override {
    areas_.curve(points, stroke);
  }
  void polygon(std::span<const PixelPoint> corners, Color color) override {
    areas_.polygon(corners, color);
  }
  void veil(PixelRect rect, Color color, double opacity) override {
    areas_.veil(rect, color, opacity);
  }
  void pushClip(PixelRect rect) override { areas_.pushClip(rect); }
  void popClip() override { areas_.popClip(); }

 private:
  QPainter& painter_;
  QtCanvas areas_;
};

void PdfCanvas::hatch(PixelRect rect, const Hatching& hatching) {
  if (rect.width <= 0 || rect.height <= 0) return;
  areas_.fill(rect, hatching.ground);
  // Lines from the lower left to the upper right, on one grid for all areas, cut at the edges.
  const int bottom = rect.bottom();
  const int first = (rect.x + rect.y) / kHatchSpacing;
  const int last = (rect.right() + bottom) / kHatchSpacing;
  QList<QLineF> lines;
  for (int i = first; i <= last; ++i) {
    const double sum = i * kHatchSpacing;  // x + y on this line
    const double left = std::max<double>(rect.x, sum - bottom);
    const double right = std::min<double>(rect.right(), sum - rect.y);
    if (left < right) lines.push_back({left, sum - left, right, sum - right});
  }
  painter_.save();
  painter_.setPen(QPen(toQColor(hatching.stroke), 1.0, Qt::SolidLine, Qt::FlatCap));
  painter_.drawLines(lines);
  painter_.restore();
}

void PdfCanvas::columns(int top, int height, ColumnEdge edge, std::span<const Column> columns) {
  for (std::size_t i = 0; i < columns.size();) {
    std::size_t next = i + 1;  // equal neighbours become one area
    while (next < columns.size() && columns[next].x == columns[next - 1].x + 1 &&
           columns[next].height == columns[i].height && columns[next].color == columns[i].color) {
      ++next;
    }
    const int y = edge == ColumnEdge::kTop ? top : top + height - columns[i].height;
    areas_.fill({columns[i].x, y, static_cast<int>(next - i), columns[i].height}, columns[i].color);
    i = next;
  }
}

constexpr int kPixelsPerInch = 96;  // as in CSS and SVG
constexpr double kPointsPerInch = 72;

QByteArray pngOf(const Drawing& drawing, double scale) {
  const QImage image = imageOf(drawing, scale);
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  if (!image.save(&buffer, "PNG")) throw Error("Qt could not write a PNG; try .svg");
  return bytes;
}

QByteArray pdfOf(const Drawing& drawing, const std::string& title) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  QPdfWriter writer(&buffer);
  writer.setTitle(QString::fromStdString(title));
  writer.setCreator(QStringLiteral("pipe-view"));
  writer.setResolution(kPixelsPerInch);
  writer.setPageMargins({0, 0, 0, 0});
  const QSizeF points = QSizeF(drawing.width(), drawing.height()) * kPointsPerInch / kPixelsPerInch;
  writer.setPageSize(QPageSize(points, QPageSize::Point, {}, QPageSize::ExactMatch));
  QPainter painter;
  if (!painter.begin(&writer)) throw Error("Qt could not write a PDF; try .svg");
  FontCache fonts;
  PdfCanvas canvas(painter, fonts);
  drawing.draw(canvas);
  painter.end();
  return bytes;
}

}  // namespace

std::string pictureEnding(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending;
}

void checkExportName(const std::string& path) {
  const std::string ending = pictureEnding(path);
  if (ending == ".png" || ending == ".pdf" || ending == ".svg") return;
  throw Error("cannot export to " + path + ": the name has to end in " + kPictureEndings);
}

QImage imageOf(const Drawing& drawing, double scale) {
  const QSize size(static_cast<int>(std::lround(drawing.width() * scale)),
                   static_cast<int>(std::lround(drawing.height() * scale)));
  QImage image(size, QImage::Format_RGB32);
  if (image.isNull()) {
    throw Error("not enough memory for the picture; choose a smaller --size or --scale");
  }
  const int dots = static_cast<int>(std::lround(scale * kPixelsPerInch / 0.0254));  // in a metre
  image.setDotsPerMeterX(dots);
  image.setDotsPerMeterY(dots);
  image.fill(Qt::white);
  FontCache fonts;
  QPainter painter(&image);
  painter.scale(scale, scale);
  QtCanvas canvas(painter, fonts);
  drawing.draw(canvas);
  painter.end();
  return image;
}

std::string pictureFile(const Drawing& drawing, const std::string& title, const std::string& path,
                        double scale) {
  checkExportName(path);
  const std::string ending = pictureEnding(path);
  if (ending == ".svg") return renderSvg(drawing, title);
  return (ending == ".pdf" ? pdfOf(drawing, title) : pngOf(drawing, scale)).toStdString();
}

}  // namespace pipetrace
