#include "chart/draw/clip_shapes.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

constexpr PixelRect kRect{10, 10, 20, 20};  // up to 30

std::vector<std::pair<double, double>> pairs(const PixelPoints& points) {
  std::vector<std::pair<double, double>> list;
  for (const PixelPoint& p : points) list.emplace_back(p.x, p.y);
  return list;
}

using Points = std::vector<std::pair<double, double>>;

TEST(ClipShapesTest, ALineIsCutWhereItLeavesAndGoesOnWhereItComesBack) {
  const std::vector<PixelPoint> line = {{0, 20}, {20, 20}, {20, 50}, {25, 50}, {25, 20}};
  const auto parts = lineInside(line, kRect);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(pairs(parts[0]), (Points{{10, 20}, {20, 20}, {20, 30}}));
  EXPECT_EQ(pairs(parts[1]), (Points{{25, 30}, {25, 20}}));
}

TEST(ClipShapesTest, ALineThatPassesACornerOutsideIsNotThere) {
  const std::vector<PixelPoint> line = {{0, 15}, {15, 0}};
  EXPECT_TRUE(lineInside(line, kRect).empty());
}

TEST(ClipShapesTest, AnAreaLosesWhatIsOutside) {
  const std::vector<PixelPoint> triangle = {{20, 20}, {40, 20}, {20, 25}};
  // The edge from (40, 20) to (20, 25) is at 22.5 where x is 30.
  EXPECT_EQ(pairs(polygonInside(triangle, kRect)),
            (Points{{20, 20}, {30, 20}, {30, 22.5}, {20, 25}}));
  const std::vector<PixelPoint> outside = {{40, 20}, {50, 20}, {40, 25}};
  EXPECT_TRUE(polygonInside(outside, kRect).empty());
}

TEST(ClipShapesTest, ACurveBeginsAndEndsAtItsPoints) {
  const PixelPoints points =
      pointsAlong({PixelPoint{0, 0}, PixelPoint{0, 50}, PixelPoint{100, 50}, PixelPoint{100, 100}});
  EXPECT_EQ(pairs({points.front(), points.back()}), (Points{{0, 0}, {100, 100}}));
  const PixelPoint middle = points[points.size() / 2];
  EXPECT_NEAR(middle.x, 50, 2);
  EXPECT_NEAR(middle.y, 50, 2);
}

}  // namespace
}  // namespace pipetrace
