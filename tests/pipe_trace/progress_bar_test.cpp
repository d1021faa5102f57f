#include "tests/pipe_trace/fixture.h"
#include "trace/testing/pseudo_terminal.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// Runs pipe-trace on a terminal with an input that does not end before the bar is there.
TEST_F(PipeTrace, AConversionThatTakesLongShowsAProgressBar) {
  PseudoTerminal terminal;
  if (!terminal.exists()) GTEST_SKIP() << "this system has no pseudo terminals";
  const std::string log = contents(logs(sample()) + "/workerlog.0");
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const auto onTerminal = [&] {
    ::dup2(ends[0], STDIN_FILENO);
    ::dup2(terminal.fd(), STDERR_FILENO);
  };
  const auto slowly = [&](pid_t) {
    ASSERT_EQ(::write(ends[1], log.data(), log.size()), static_cast<ssize_t>(log.size()));
    EXPECT_THAT(terminal.shown("0.0 MB"), HasSubstr("reading"));
    ::close(ends[1]);
  };
  const ProgramRun result =
      run({"-", "-o", path("a.json")}, {.inChild = onTerminal, .meanwhile = slowly});
  ::close(ends[0]);
  EXPECT_EQ(result.exitCode, 0);
  // The findings in the log appear where the bar was.
  EXPECT_THAT(terminal.shown("1 of 4 ranks is there"),
              HasSubstr("\r\x1b[Kwarning: 1 of 4 ranks is there"));
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
