#include "runtime/transport/nccl.h"

#include <gmock/gmock.h>

#include "runtime/control/testing/memory_key_value.h"
#include "runtime/testing/run_ranks.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

std::vector<std::string> errorsWithDevices(const std::vector<std::string>& places) {
  testing::MemoryKeyValue words;
  const int ranks = static_cast<int>(places.size());
  return testing::runRanks(ranks, [&](int rank) {
    requireOwnDevices(words, rank, ranks, places[static_cast<std::size_t>(rank)],
                      60 * kNsPerSecond);
  });
}

TEST(NcclTest, RanksThatShareADeviceAreRefusedOnAllRanks) {
  EXPECT_THAT(errorsWithDevices({"01:00 of a", "02:00 of a", "01:00 of b"}), Each(IsEmpty()));
  EXPECT_THAT(errorsWithDevices({"01:00 of a", "02:00 of a", "01:00 of a"}),
              Each(AllOf(HasSubstr("ranks 0 and 2 have the same device, 01:00 of a"),
                         HasSubstr("--transport gloo"))));
}

TEST(NcclTest, ARankOnTheCpuIsRefused) {
  EXPECT_THAT([] { connectNccl({}); },
              ThrowsMessage<Error>(HasSubstr("this rank computes on cpu")));
}

TEST(NcclTest, AMissingLibraryIsNamed) {
  EXPECT_THAT([] { connectNccl({.device = c10::Device(c10::kCUDA, 0)}); },
              ThrowsMessage<Error>(AllOf(HasSubstr("the library for it was not loaded"),
                                         HasSubstr("needs --device cuda"))));
}

}  // namespace
}  // namespace pipetrace
