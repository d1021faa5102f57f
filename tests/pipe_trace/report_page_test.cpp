// pipe-trace report -o, as users run it. tests/front_ends/check_report.py opens the page.
#include <filesystem>

#include "tests/pipe_trace/fixture.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class ReportPage : public PipeTrace {
 protected:
  static ProgramRun report(std::vector<std::string> arguments, const ProgramSetting& setting = {}) {
    arguments.insert(arguments.begin(), "report");
    return run(arguments, setting);
  }
};

TEST_F(ReportPage, ThePageStandsBesideThePrintedReport) {
  const std::string folder = logs(sample(3));
  const std::string printed = report({folder}).out;
  const ProgramRun result = report({folder, "-o", path("my report.html")});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_EQ(result.out,
            printed + "\nwrote " + path("my report.html") + ": a page; open it with a browser\n");
  EXPECT_THAT(contents(path("my report.html")),
              AllOf(StartsWith("<!DOCTYPE html>"), EndsWith("</html>\n"),
                    HasSubstr("4 ranks, 3 steps, 192 compute jobs"),
                    HasSubstr("<title>" + folder + ": PipeTrace report</title>")));
}

TEST_F(ReportPage, TheEndingSaysTheFormat) {
  const std::string folder = logs(sample(3));
  const ProgramRun result =
      report({folder, "-o", path("a.txt"), "-o", path("b.json"), "-o", path("c.HTM"), "--quiet"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.out + result.err, IsEmpty());
  EXPECT_EQ(contents(path("a.txt")), report({folder}).out);
  EXPECT_EQ(contents(path("b.json")), report({folder, "--json"}).out);
  EXPECT_THAT(contents(path("c.HTM")), StartsWith("<!DOCTYPE html>"));
}

TEST_F(ReportPage, StandardOutputHasTheReportOnce) {
  const std::string folder = logs(sample(3));
  EXPECT_EQ(report({folder, "-o", "-"}).out, report({folder}).out);
  const ProgramRun json = report({folder, "--json", "-o", "-", "-o", path("a.html")});
  EXPECT_EQ(json.out, report({folder, "--json"}).out);
  EXPECT_THAT(json.err, HasSubstr("wrote " + path("a.html")));
}

TEST_F(ReportPage, AnUnknownEndingIsRefusedBeforeAnythingIsRead) {
  for (const char* const name : {"a.pdf", "a", "a.pftrace"}) {
    expectError(report({path("no such folder"), "-o", path(name)}), "cannot write " + path(name),
                "NAME.html (a page for browsers)");
  }
}

TEST_F(ReportPage, AConversionSaysWhichCommandWritesPages) {
  const std::string folder = logs(sample());
  expectError(run({folder, "-o", path("a.html")}), "cannot write " + path("a.html"),
              "pipe-trace report INPUT... -o " + path("a.html") + " writes a page");
}

TEST_F(ReportPage, NoInputIsReplaced) {
  const std::string folder = logs(sample(3));
  write("my logs/other.json", R"({"traceEvents": []})");
  expectError(report({folder, "-o", path("my logs/other.json")}), "other.json",
              "choose another name");
  expectError(report({path("my logs/workerlog.0"), "-o", path("a.html"), "-o", path("a.html")}),
              "a.html", "twice");
  EXPECT_EQ(contents(path("my logs/other.json")), R"({"traceEvents": []})");
  EXPECT_THAT(names(), ElementsAre("my logs"));
}

TEST_F(ReportPage, AnEmptyRunLeavesNoPage) {
  write("workerlog.0", "");
  expectError(report({path("workerlog.0"), "-o", path("a.html")}), "it is empty",
              "workerlog.<rank>");
  EXPECT_THAT(names(), ElementsAre("workerlog.0"));
}

TEST_F(ReportPage, AFullDiskLeavesTheOldPage) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  const std::string folder = logs(sample(3));
  write("a.html", "old");
  const ProgramRun result = report({folder, "-o", path("a.html")}, {.outFile = "/dev/full"});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("No space left on device"), Not(HasSubstr("wrote"))));
  EXPECT_EQ(contents(path("a.html")), "old");
  fs::create_symlink("/dev/full", path("full.html"));
  EXPECT_THAT(report({folder, "-o", path("full.html")}).err, HasSubstr("No space left on device"));
  EXPECT_THAT(names(), ElementsAre("a.html", "full.html", "my logs"));
}

}  // namespace
}  // namespace pipetrace
