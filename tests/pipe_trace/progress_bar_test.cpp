#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "apps/cli/progress_bar.h"
#include "tests/pipe_trace/fixture.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// A terminal whose other end the test reads.
class ProgressBarTest : public PipeTrace {
 protected:
  ProgressBarTest() : screen_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    if (screen_ < 0) return;
    ::grantpt(screen_);
    ::unlockpt(screen_);
    const winsize size{.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
    terminal_ = ::open(::ptsname(screen_), O_RDWR | O_NOCTTY | O_CLOEXEC);
    ::ioctl(terminal_, TIOCSWINSZ, &size);
  }
  ~ProgressBarTest() override {
    ::close(screen_);
    ::close(terminal_);
  }

  void SetUp() override {
    PipeTrace::SetUp();
    if (screen_ < 0) GTEST_SKIP() << "this system has no pseudo terminals";
  }

  /// What has come, once `text` is in it, or (empty `text`) what is there.
  std::string shown(const std::string& text) {
    constexpr int kPatienceMs = 60'000;
    pollfd waiting{.fd = screen_, .events = POLLIN, .revents = 0};
    while (all_.find(text) == std::string::npos || text.empty()) {
      if (::poll(&waiting, 1, text.empty() ? 0 : kPatienceMs) <= 0) break;
      char buffer[4096];
      const ssize_t n = ::read(screen_, buffer, sizeof buffer);
      if (n <= 0) break;
      all_.append(buffer, static_cast<std::size_t>(n));
    }
    return all_;
  }

  int screen_;
  int terminal_ = -1;
  std::string all_;
};

TEST_F(ProgressBarTest, ShowsHowFarItIsAndIsGoneAtTheEnd) {
  std::atomic<std::int64_t> done{1'000'000};
  const std::atomic<std::int64_t> total{4'000'000};
  {
    const ProgressBar bar("reading", done, total,
                          {.fd = terminal_, .patience = std::chrono::milliseconds(0)});
    EXPECT_THAT(shown(" 25 %"), StartsWith("\rreading [#"));
    done = 3'000'000;
    EXPECT_THAT(shown(" 75 %"), HasSubstr("3.0 MB of 4.0 MB"));
  }
  EXPECT_THAT(shown(""), EndsWith("\r\x1b[K"));
}

TEST_F(ProgressBarTest, ShortOrQuietWorkShowsNothing) {
  const std::atomic<std::int64_t> number{1};
  {
    const ProgressBar bar("reading", number, number,
                          {.fd = terminal_, .patience = std::chrono::hours(1)});
  }
  {
    const ProgressBar bar("reading", number, number,
                          {.fd = terminal_, .patience = {}, .quiet = true});
  }
  EXPECT_THAT(shown(""), IsEmpty());
}

TEST_F(ProgressBarTest, AFileIsNoTerminal) {
  write("err", "");
  const int file = ::open(path("err").c_str(), O_WRONLY | O_CLOEXEC);
  const std::atomic<std::int64_t> number{1};
  { const ProgressBar bar("reading", number, number, {.fd = file, .patience = {}}); }
  ::close(file);
  EXPECT_THAT(contents(path("err")), IsEmpty());
}

/// Runs pipe-trace on this terminal with an input that does not end before the bar is there.
TEST_F(ProgressBarTest, AConversionThatTakesLongShowsIt) {
  const std::string log = contents(logs(sample()) + "/workerlog.0");
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const auto onTerminal = [&] {
    ::dup2(ends[0], STDIN_FILENO);
    ::dup2(terminal_, STDERR_FILENO);
  };
  const auto slowly = [&](pid_t) {
    ASSERT_EQ(::write(ends[1], log.data(), log.size()), static_cast<ssize_t>(log.size()));
    EXPECT_THAT(shown("0.0 MB"), HasSubstr("reading"));
    ::close(ends[1]);
  };
  const ProgramRun result =
      run({"-", "-o", path("a.json")}, {.inChild = onTerminal, .meanwhile = slowly});
  ::close(ends[0]);
  EXPECT_EQ(result.exitCode, 0);
  // What was found in the log is told where the bar was.
  EXPECT_THAT(shown("logs of 1 of 4 ranks"), HasSubstr("\r\x1b[Kwarning: logs of 1 of 4 ranks"));
}

TEST_F(PipeTrace, AVeryLargeJsonGetsAdvice) {
  const std::string folder = logs(sample());
  const ProgramRun result = run({folder, "-o", path("a.json"), "--large-json", "1000"});
  EXPECT_EQ(result.exitCode, 0);
  for (const char* word : {"a.json", "2 GB", "--steps", "--ranks", "--no-flows", ".pftrace"}) {
    EXPECT_THAT(result.err, HasSubstr(word));
  }
  EXPECT_THAT(run({folder, "-o", path("b.json")}).err, IsEmpty());
  EXPECT_THAT(run({folder, "-o", path("c.pftrace"), "--large-json", "1000"}).err, IsEmpty());
  EXPECT_THAT(run({folder, "-q", "-o", path("d.json"), "--large-json", "1000"}).err, IsEmpty());
}

}  // namespace
}  // namespace pipetrace
