#include "runtime/transport/line_transport.h"

#include <gmock/gmock.h>

#include "runtime/stage_work.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TensorShape shapeOfSizes(std::initializer_list<std::int64_t> sizes) {
  TensorShape shape{.type = 6, .dimensions = static_cast<std::int64_t>(sizes.size())};
  std::copy(sizes.begin(), sizes.end(), shape.sizes.begin());
  return shape;
}

TEST(LineShapesTest, ALengthThatWasTheNumberOfRowsFollowsIt) {
  LineShapes shapes;
  shapes.note({.microBatch = 0}, shapeOfSizes({4, 4, 12}), 4);
  shapes.note({.microBatch = 1}, shapeOfSizes({3, 12}), 3);
  EXPECT_EQ(shapes.of({.step = 1, .microBatch = 0}, 7), shapeOfSizes({7, 4, 12}));
  EXPECT_EQ(shapes.of({.step = 1, .microBatch = 1}, 6), shapeOfSizes({6, 12}));
}

TEST(LineShapesTest, OtherLengthsStay) {
  LineShapes shapes;
  shapes.note({.stage = 1}, shapeOfSizes({5, 12}), 4);
  shapes.note({.stage = 2}, shapeOfSizes({}), 4);
  shapes.note({.stage = 3}, TensorShape{}, 4);
  shapes.note({.stage = 4}, shapeOfSizes({4}), 0);
  EXPECT_EQ(shapes.of({.stage = 1}, 7), shapeOfSizes({5, 12}));
  EXPECT_EQ(shapes.of({.stage = 2}, 7), shapeOfSizes({}));
  EXPECT_EQ(shapes.of({.stage = 3}, 7), TensorShape{});
  EXPECT_EQ(shapes.of({.stage = 4}, 0), shapeOfSizes({4})) << "nobody knows the rows";
}

TEST(LineShapesTest, AMessageOfAnotherShapeIsRefusedWithBothShapes) {
  LineShapes shapes;
  shapes.note({}, shapeOfSizes({4, 12}), 4);
  EXPECT_NO_THROW(shapes.require({}, shapeOfSizes({7, 12}), 7));
  EXPECT_THAT(
      [&] {
        shapes.require({}, shapeOfSizes({7, 13}), 7);
      },
      ThrowsMessage<Error>(
          HasSubstr("its shape is 7 × 13, where the other rank waits for 7 × 12")));
  EXPECT_THAT([&] { shapes.require({}, TensorShape{}, 7); },
              ThrowsMessage<Error>(HasSubstr("no tensor")));
  EXPECT_THAT([&] { shapes.of({.microBatch = 1}, 7); },
              ThrowsMessage<Error>(HasSubstr("there was none in the first step")));
}

TEST(LineShapesTest, RowsAreSplitAsTensorsAre) {
  const MicroBatchRows rows{.rows = 11, .microBatches = 4};
  std::int64_t next = 0;
  for (const std::int64_t count : {3, 3, 3, 2}) {
    const int microBatch = static_cast<int>(next / 3);
    EXPECT_EQ(rows.firstOf(microBatch), next);
    EXPECT_EQ(rows.countOf(microBatch), count);
    next += count;
  }
}

}  // namespace
}  // namespace pipetrace
