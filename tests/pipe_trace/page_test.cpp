// The pages of pipe-trace report -o and diff -o, as users write them. tests/front_ends/ has
// check_report.py and check_diff.py, which open them.
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
  EXPECT_THAT(
      contents(path("my report.html")),
      AllOf(StartsWith("<!DOCTYPE html>"), EndsWith("</html>\n"),
            HasSubstr("4 ranks, 3 steps, 192 compute jobs"), HasSubstr("<h2>Time by name</h2>"),
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

class DiffPageCommand : public PipeTrace {
 protected:
  static ProgramRun diff(std::vector<std::string> arguments, const ProgramSetting& setting = {}) {
    arguments.insert(arguments.begin(), "diff");
    return run(arguments, setting);
  }
  std::string a() const { return logs(sample(3), "my a"); }
  std::string b() const { return logs(sample(3), "b"); }
};

TEST_F(DiffPageCommand, ThePageStandsBesideThePrintedComparison) {
  const std::string folderOfA = a();
  const std::string folderOfB = b();
  const std::string printed = diff({folderOfA, folderOfB}).out;
  const ProgramRun result = diff({folderOfA, folderOfB, "-o", path("my diff.html")});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_EQ(result.out,
            printed + "\nwrote " + path("my diff.html") + ": a page; open it with a browser\n");
  EXPECT_THAT(contents(path("my diff.html")),
              AllOf(StartsWith("<!DOCTYPE html>"), EndsWith("</html>\n"),
                    HasSubstr("<title>" + folderOfA + " (A) and " + folderOfB + " (B): "),
                    HasSubstr("data-verdict=\"equal\"")));
}

TEST_F(DiffPageCommand, TheEndingSaysTheFormat) {
  const std::string folder = a();
  const ProgramRun result = diff({folder, folder, "-o", path("a.txt"), "-o", path("b.json"), "-o",
                                  path("c.HTM"), "--quiet", "--strict"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.out + result.err, IsEmpty());
  EXPECT_EQ(contents(path("a.txt")), diff({folder, folder}).out);
  EXPECT_EQ(contents(path("b.json")), diff({folder, folder, "--json"}).out);
  EXPECT_THAT(contents(path("c.HTM")), StartsWith("<!DOCTYPE html>"));
  expectError(diff({path("none"), path("none"), "-o", path("a.pdf")}),
              "cannot write " + path("a.pdf"), "a comparison is NAME.html");
}

TEST_F(DiffPageCommand, NoInputOfEitherRunIsReplaced) {
  const std::string folderOfA = a();
  const std::string folderOfB = b();
  for (const char* const folder : {"my a", "b"}) {
    write(std::string(folder) + "/other.json", R"({"traceEvents": []})");
    const std::string other = path(std::string(folder) + "/other.json");
    expectError(diff({folderOfA, folderOfB, "-o", other}), "other.json", "choose another name");
    EXPECT_EQ(contents(other), R"({"traceEvents": []})");
    fs::remove(other);
  }
}

TEST_F(DiffPageCommand, AFullDiskLeavesTheOldPage) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  const std::string folder = a();
  write("a.html", "old");
  const ProgramRun result = diff({folder, folder, "-o", path("a.html")}, {.outFile = "/dev/full"});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("No space left on device"), Not(HasSubstr("wrote"))));
  EXPECT_EQ(contents(path("a.html")), "old");
  EXPECT_THAT(diff({folder, folder, "-o", path("no folder/a.html")}).err,
              HasSubstr("no folder/a.html"));
  EXPECT_THAT(names(), ElementsAre("a.html", "my a"));
}

}  // namespace
}  // namespace pipetrace
