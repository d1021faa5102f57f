#include "trace/log/job_details.h"

#include <gtest/gtest.h>

#include "trace/log/ring_format.h"

namespace pipetrace {
namespace {

TEST(JobDetailsTest, RingFilesKeepWhatWasGiven) {
  for (const std::int64_t part : {-1, 0, 1, 32'767}) {
    for (const std::int64_t version : {-1L, 0L, 7L, 2'147'483'647L}) {
      const JobDetails given{.part = part, .version = version};
      EXPECT_EQ(unpackedDetails(packedDetails(given), ring_format::kVersion), given)
          << part << " " << version;
    }
  }
  EXPECT_EQ(packedDetails(JobDetails()), kNotGiven);
}

TEST(JobDetailsTest, ANumberThatHasNoRoomIsLeftOutAndTheOthersAreKept) {
  const auto kept = [](const JobDetails& given) {
    return unpackedDetails(packedDetails(given), ring_format::kVersion);
  };
  EXPECT_EQ(kept({.part = 32'768, .version = 7}), (JobDetails{.version = 7}));
  EXPECT_EQ(kept({.part = 3, .version = 1L << 31}), (JobDetails{.part = 3}));
}

TEST(JobDetailsTest, FilesOfEarlierVersionsAreRead) {
  // Bits 16 to 31 were those of the part's sign.
  constexpr std::int64_t kPart5Version9 = 9L << 32 | 5;
  EXPECT_EQ(unpackedDetails(kPart5Version9, 3), (JobDetails{.part = 5, .version = 9}));
  EXPECT_EQ(unpackedDetails(kPart5Version9, 2), (JobDetails{.part = 5, .version = 9}));
  EXPECT_EQ(unpackedDetails(4096, 1), JobDetails()) << "these were bytes";
}

}  // namespace
}  // namespace pipetrace
