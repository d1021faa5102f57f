#include "viewer/testing/compared_picture.h"
#include "trace/testing/folders.h"

#include <QDir>
#include <QFileInfo>
#include <QImageWriter>
#include <cstdlib>

namespace pipetrace {
namespace {

constexpr int kMostLevels = 8;
constexpr double kMostPixels = 0.005;

bool isOff(QRgb a, QRgb b) {
  return std::abs(qRed(a) - qRed(b)) > kMostLevels ||
         std::abs(qGreen(a) - qGreen(b)) > kMostLevels ||
         std::abs(qBlue(a) - qBlue(b)) > kMostLevels;
}

bool save(const QImage& image, const QString& path) {
  QDir().mkpath(QFileInfo(path).path());
  QImageWriter writer(path, "png");
  writer.setCompression(100);  // the smallest file
  return writer.write(image.convertToFormat(QImage::Format_RGB888));
}

}  // namespace

testing::AssertionResult areAlike(const QImage& seen, const QImage& expected) {
  if (seen.size() != expected.size()) {
    return testing::AssertionFailure()
           << "it is " << seen.width() << " x " << seen.height() << " pixels, not "
           << expected.width() << " x " << expected.height();
  }
  const QImage a = seen.convertToFormat(QImage::Format_RGB32);
  const QImage b = expected.convertToFormat(QImage::Format_RGB32);
  std::int64_t off = 0;
  for (int y = 0; y < a.height(); ++y) {
    const auto* lineA = reinterpret_cast<const QRgb*>(a.constScanLine(y));
    const auto* lineB = reinterpret_cast<const QRgb*>(b.constScanLine(y));
    for (int x = 0; x < a.width(); ++x) off += isOff(lineA[x], lineB[x]) ? 1 : 0;
  }
  const double share = static_cast<double>(off) / (1.0 * a.width() * a.height());
  if (share <= kMostPixels) return testing::AssertionSuccess();
  return testing::AssertionFailure() << share * 100 << " % of the pixels differ";
}

testing::AssertionResult isAsCommitted(const QImage& seen, const std::string& path) {
  const QString committed = QString::fromStdString(test::inSources(path));
  const QImage expected(committed);
  const testing::AssertionResult result = areAlike(seen, expected);
  if (result) return result;
  if (qEnvironmentVariableIntValue("PIPETRACE_UPDATE_PICTURES") == 1) {
    if (save(seen, committed)) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "cannot write " << committed.toStdString();
  }
  const QFileInfo file(committed);
  const QString left = QString::fromStdString(test::inBuild("pictures/%1/%2"))
                           .arg(file.dir().dirName(), file.fileName());
  save(seen, left);
  return testing::AssertionFailure()
         << path << ": " << result.message() << "; see " << left.toStdString()
         << ". If that is as it should be, run tools/viewer_pictures.sh";
}

}  // namespace pipetrace
