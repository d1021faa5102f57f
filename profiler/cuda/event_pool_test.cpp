#include "profiler/cuda/event_pool.h"

#include <gmock/gmock.h>

#include "profiler/testing/fake_cuda.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

TEST(EventPoolTest, EventsAreTakenInTurnUntilAllAreInUse) {
  FakeCuda cuda;
  EventPool pool(cuda, cuda.newStream(), 4);
  for (EventPool::Index i = 0; i < 4; ++i) EXPECT_EQ(pool.take(), i);
  EXPECT_EQ(pool.take(), EventPool::kNone);
  EXPECT_EQ(pool.take(), EventPool::kNone);
  pool.releaseUpTo(1);
  EXPECT_EQ(pool.take(), 0U);
  EXPECT_EQ(pool.take(), 1U);
  EXPECT_EQ(pool.take(), EventPool::kNone);
  pool.releaseUpTo(1);
  for (const EventPool::Index i : {2U, 3U, 0U, 1U}) EXPECT_EQ(pool.take(), i);
  EXPECT_EQ(pool.take(), EventPool::kNone);
}

TEST(EventPoolTest, AnEventThatWasGivenBackIsTakenNext) {
  FakeCuda cuda;
  EventPool pool(cuda, cuda.newStream(), 4);
  EXPECT_EQ(pool.take(), 0U);
  EXPECT_EQ(pool.take(), 1U);
  pool.untake();
  EXPECT_EQ(pool.take(), 1U);
}

TEST(EventPoolTest, EveryEventIsRecordedOnceBeforeItIsNeeded) {
  FakeCuda cuda;
  {
    const EventPool pool(cuda, cuda.newStream(), 100);
    EXPECT_EQ(pool.size(), 128U);
    EXPECT_EQ(cuda.calls().records, 128);
    EXPECT_EQ(cuda.liveEvents(), 128);
  }
  EXPECT_EQ(cuda.liveEvents(), 0);
}

TEST(EventPoolTest, EventsThatCannotBeMadeAreAnErrorAndNoneIsLeft) {
  FakeCuda cuda;
  cuda.refuseRecords(1);
  EXPECT_THROW(EventPool(cuda, cuda.newStream(), 4), Error);
  EXPECT_EQ(cuda.liveEvents(), 0);
}

}  // namespace
}  // namespace pipetrace
