#include "viewer/paint/qt_canvas.h"

#include <gtest/gtest.h>

#include <QImage>
#include <algorithm>

namespace pipetrace {
namespace {

constexpr int kSide = 4 * kHatchSpacing;
constexpr Color kBlack{0, 0, 0};
constexpr Color kWhite{255, 255, 255};

/// The darkness of each pixel of a hatched square, 0 to 1, without any colour.
std::vector<double> hatched(BubblePattern pattern, double pixels = 1) {
  QImage image(qRound(kSide * pixels), qRound(kSide * pixels), QImage::Format_RGB32);
  QPainter painter(&image);
  painter.scale(pixels, pixels);
  FontCache fonts;
  QtCanvas(painter, fonts).hatch({0, 0, kSide, kSide}, {kWhite, kBlack, pattern});
  painter.end();
  std::vector<double> dark;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) dark.push_back(1 - qGray(image.pixel(x, y)) / 255.0);
  }
  return dark;
}

/// The mean difference of two squares in the place in which they are most alike.
double leastDifference(const std::vector<double>& a, const std::vector<double>& b) {
  double least = 1;
  for (int shift = 0; shift < kHatchSpacing * kHatchSpacing; ++shift) {
    const int dx = shift % kHatchSpacing;
    const int dy = shift / kHatchSpacing;
    double sum = 0;
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const int moved = (y + dy) % kSide * kSide + (x + dx) % kSide;
        sum += std::abs(a[static_cast<std::size_t>(y * kSide + x)] -
                        b[static_cast<std::size_t>(moved)]);
      }
    }
    least = std::min(least, sum / (kSide * kSide));
  }
  return least;
}

TEST(QtCanvasTest, ClassesOfBubblesDifferByTheirPatternsWhereColoursAreNotSeen) {
  for (const BubbleClassRow& a : kBubbleClasses) {
    for (const BubbleClassRow& b : kBubbleClasses) {
      if (a.of == BubbleClass::kNone || a.of >= b.of) continue;
      EXPECT_GT(leastDifference(hatched(a.pattern), hatched(b.pattern)), 0.035)
          << a.name << " and " << b.name;
    }
  }
}

TEST(QtCanvasTest, LinesOfAPatternCoverTheShareThatItsMeanColourCountsOn) {
  for (int i = 0; i < kBubblePatternCount; ++i) {
    const auto pattern = static_cast<BubblePattern>(i);
    for (const double pixels : {1.0, 1.5, 2.0}) {
      double sum = 0;
      const std::vector<double> dark = hatched(pattern, pixels);
      for (const double each : dark) sum += each;
      // At one pixel Qt's diagonal lines are a pixel a column, and no wider.
      const double tolerance = pixels == 1 ? 0.085 : 0.03;
      EXPECT_NEAR(sum / static_cast<double>(dark.size()), strokeShareOf(pattern) / 256.0, tolerance)
          << i << " at " << pixels << " pixels";
    }
  }
}

}  // namespace
}  // namespace pipetrace
