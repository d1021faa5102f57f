#include "viewer/export/picture_file.h"

#include <QBuffer>
#include <QPainter>
#include <QPdfWriter>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "chart/draw/svg_writer.h"
#include "trace/error.h"
#include "viewer/export/pdf_canvas.h"

namespace pipetrace {
namespace {

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
