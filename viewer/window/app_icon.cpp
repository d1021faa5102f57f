#include "viewer/window/app_icon.h"

#include <QFile>
#include <QPainter>
#include <QPixmap>
#include <QXmlStreamReader>

/// Libraries that are linked statically have to ask for their resources, outside of namespaces.
static void initIcon() { Q_INIT_RESOURCE(pipe_view); }

namespace pipetrace {
namespace {

constexpr double kSide = 64;  // of the drawing

/// Draws the rectangles of the drawing, which has nothing else: Qt needs a plug-in for more.
QPixmap iconOf(const QByteArray& svg, int side) {
  QPixmap pixmap(side, side);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.scale(side / kSide, side / kSide);
  QXmlStreamReader xml(svg);
  while (!xml.atEnd()) {
    if (xml.readNext() != QXmlStreamReader::StartElement || xml.name() != QLatin1String("rect")) {
      continue;
    }
    const QXmlStreamAttributes rect = xml.attributes();
    const auto number = [&rect](const char* name) {
      return rect.value(QLatin1String(name)).toDouble();
    };
    painter.setBrush(QColor(rect.value(QLatin1String("fill")).toString()));
    painter.drawRoundedRect(QRectF(number("x"), number("y"), number("width"), number("height")),
                            number("rx"), number("rx"));
  }
  return pixmap;
}

}  // namespace

QIcon appIcon() {
  initIcon();
  QFile file(QStringLiteral(":/pipe-view.svg"));
  QIcon icon;
  if (!file.open(QIODevice::ReadOnly)) return icon;
  const QByteArray svg = file.readAll();
  for (const int side : {16, 24, 32, 48, 64, 128, 256}) icon.addPixmap(iconOf(svg, side));
  return icon;
}

}  // namespace pipetrace
