#include "apps/cli/progress_bar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "trace/testing/pseudo_terminal.h"

namespace pipetrace {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(ProgressLineTest, SaysHowMuchOfHowMuch) {
  EXPECT_EQ(progressLine("reading", 1'500'000'000, 3'000'000'000, 80),
            "reading [####################                    ]  50 %  1.50 GB of 3.00 GB");
  EXPECT_EQ(progressLine("reading", 0, 2'000'000, 48),
            "reading [             ]   0 %  0.0 MB of 2.0 MB");
  EXPECT_EQ(progressLine("trying", 3, 12, 50, "changes"),
            "trying [####             ]  25 %  3 of 12 changes");
  EXPECT_EQ(progressLine("trying", 3, 0, 50, "changes"), "trying  3 changes");
  EXPECT_EQ(progressLine("writing a.json", 12'340'000, 0, 80), "writing a.json  12.3 MB");
}

TEST(ProgressLineTest, StaysInItsColumnsAndBelowAHundredPercent) {
  for (const int columns : {1, 5, 20, 40, 200}) {
    EXPECT_LT(progressLine("reading", 5'000'000, 3'000'000, columns).size(),
              static_cast<std::size_t>(columns));
  }
  EXPECT_THAT(progressLine("reading", 5'000'000, 3'000'000, 80),
              HasSubstr("100 %  3.0 MB of 3.0 MB"));
}

class ProgressBarTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!terminal_.exists()) GTEST_SKIP() << "this system has no pseudo terminals";
  }

  PseudoTerminal terminal_;
};

TEST_F(ProgressBarTest, ShowsHowFarItIsAndIsGoneAtTheEnd) {
  std::atomic<std::int64_t> done{1'000'000};
  const std::atomic<std::int64_t> total{4'000'000};
  {
    const ProgressBar bar("reading", done, total,
                          {.fd = terminal_.fd(), .patience = std::chrono::milliseconds(0)});
    EXPECT_THAT(terminal_.shown(" 25 %"), StartsWith("\rreading [#"));
    done = 3'000'000;
    EXPECT_THAT(terminal_.shown(" 75 %"), HasSubstr("3.0 MB of 4.0 MB"));
  }
  EXPECT_THAT(terminal_.shown(""), EndsWith("\r\x1b[K"));
}

TEST_F(ProgressBarTest, ShortOrQuietWorkShowsNothing) {
  const std::atomic<std::int64_t> number{1};
  {
    const ProgressBar bar("reading", number, number,
                          {.fd = terminal_.fd(), .patience = std::chrono::hours(1)});
  }
  {
    const ProgressBar bar("reading", number, number,
                          {.fd = terminal_.fd(), .patience = {}, .quiet = true});
  }
  EXPECT_THAT(terminal_.shown(""), IsEmpty());
}

TEST_F(ProgressBarTest, AFileIsNoTerminal) {
  std::FILE* const file = std::tmpfile();
  const std::atomic<std::int64_t> number{1};
  { const ProgressBar bar("reading", number, number, {.fd = ::fileno(file), .patience = {}}); }
  EXPECT_EQ(::lseek(::fileno(file), 0, SEEK_END), 0);
  std::fclose(file);
}

}  // namespace
}  // namespace pipetrace
