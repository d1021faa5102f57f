#include "parser/load_timeline.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <thread>

#include "parser/chrome_writer.h"
#include "parser/reader_registry.h"
#include "parser/test_files.h"
#include "parser/test_timelines.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::ThrowsMessage;

class LoadTimelineTest : public test::FolderTest {
 protected:
  Timeline load(const std::vector<std::string>& inputs, LoadOptions options = {}) {
    diagnostics_ = {};
    return loadTimeline(inputs, options, diagnostics_);
  }
  std::vector<std::string> told() const {
    std::vector<std::string> list;
    for (const Diagnostic& d : diagnostics_.list()) list.push_back(toText(d));
    return list;
  }
  std::string writeLogs(const Timeline& timeline, const std::string& folder) {
    for (const auto& [rank, info] : timeline.ranks) {
      write(folder + "/workerlog." + std::to_string(rank), test::logOf(timeline, rank));
    }
    return path(folder);
  }
  std::string writeProfile(const Timeline& timeline, const std::string& name) {
    OutputFile out(path(name));
    writeChromeJson(timeline, {}, out);
    out.commit();
    return path(name);
  }

  Diagnostics diagnostics_;
};

TEST_F(LoadTimelineTest, TimesTooFarApartToSubtractAreAnError) {
  const std::string job = "Profiler Info: Job (0), type = forward, micro_batch_id = 0, ";
  const std::string log = write(
      "workerlog.0",
      job + "job_start_time = -9000000000000.000000, job_end_time = -8999999999999.000000\n" + job +
          "job_start_time = 8999999999999.000000, job_end_time = 9000000000000.000000\n");
  EXPECT_THAT([&] { load({log}); }, ThrowsMessage<Error>(HasSubstr("292 years")));
}

TEST_F(LoadTimelineTest, AFolderOfLogsIsOneTimeline) {
  const Timeline written = test::oneFOneB(4, 8, 2);
  EXPECT_EQ(test::describe(load({writeLogs(written, "logs")})), test::describe(written));
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(LoadTimelineTest, TheFormatIsChosenByContent) {
  const Timeline written = test::oneFOneB(2, 2, 1);
  writeProfile(written, "workerlog.0");
  EXPECT_EQ(test::describe(load({path("workerlog.0")})), test::describe(written));
  write("profile.json", test::logOf(written, 1));
  EXPECT_THAT(load({path("profile.json")}).ranks, ElementsAre(Key(1)));
  // A program that prints JSON before its first job.
  write("log", "{\"config\": 1}\n" + test::logOf(written, 1));
  EXPECT_THAT(load({path("log")}).ranks, ElementsAre(Key(1)));
}

TEST_F(LoadTimelineTest, SeveralFilesAreOneTimeline) {
  const Timeline written = test::oneFOneB(3, 2, 1);
  writeLogs(written, "logs");
  std::vector<std::string> files;
  for (const char* name : {"logs/workerlog.2", "logs/workerlog.0", "logs/workerlog.1"}) {
    files.push_back(path(name));
  }
  EXPECT_EQ(test::describe(load(files)), test::describe(written));
}

TEST_F(LoadTimelineTest, MachinesFoldersAreSearched) {
  const std::string job =
      "Profiler Info: Job (0), type = forward, micro_batch_id = 0, job_start_time = 1.000000, "
      "job_end_time = 2.000000\n";
  for (const char* name :
       {"machine0/workerlog.0", "machine0/workerlog.1", "machine1/workerlog.0"}) {
    write(name, job);
  }
  EXPECT_THAT(load({folder_.string()}).ranks, ElementsAre(Key(0), Key(1), Key(2)));
}

TEST_F(LoadTimelineTest, ALogComesThroughAPipe) {
  const Timeline written = test::oneFOneB(1, 4, 1);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path("pipe")) << test::logOf(written, 0); });
  EXPECT_EQ(test::describe(load({path("pipe")})), test::describe(written));
  writer.join();
}

TEST_F(LoadTimelineTest, ALogThatIsStillBeingWrittenIsReadAsFarAsItIs) {
  const std::string log = test::logOf(test::oneFOneB(1, 4, 1), 0);
  std::ofstream out(path("workerlog.0"));
  out << log.substr(0, log.find("job_end_time", log.size() / 2) + 20) << std::flush;
  EXPECT_GT(load({path("workerlog.0")}).eventCount(), 0U);
  EXPECT_THAT(told(), ElementsAre(HasSubstr("the last line is cut off"),
                                  HasSubstr("no Profiler End line")));
}

TEST_F(LoadTimelineTest, AnEmptyLogAmongOthersIsTold) {
  const std::string folder = writeLogs(test::oneFOneB(2, 2, 1), "logs");
  write("logs/workerlog.1", "");
  EXPECT_THAT(load({folder}).ranks, ElementsAre(Key(0)));
  EXPECT_THAT(told(), ElementsAre(AllOf(HasSubstr("workerlog.1: warning: no job in it"),
                                        HasSubstr("it is empty"))));
}

TEST_F(LoadTimelineTest, InputsThatHoldNothingAreAnError) {
  const std::string text(119, '\n');
  EXPECT_THAT(
      [&] { load({write("other.txt", text + "end\n")}); },
      ThrowsMessage<Error>(HasSubstr("no job in " + path("other.txt") +
                                     ": it holds 120 lines, none with \"Profiler Info:\"")));
  EXPECT_THAT(told(), IsEmpty());  // the error has said it
  EXPECT_THAT([&] { load({write("empty", "")}); }, ThrowsMessage<Error>(HasSubstr("it is empty")));
  EXPECT_THAT(
      [&] {
        load({path("empty"), path("other.txt")});
      },
      ThrowsMessage<Error>(HasSubstr("and none in 1 more")));
  EXPECT_THAT([&] { load({write("t.json", "{\"traceEvents\": []}")}); },
              ThrowsMessage<Error>(HasSubstr("\"traceEvents\"")));
  EXPECT_THAT([&] { load({write("u.json", R"({"traceEvents": [{"ph": "i", "ts": 1}]})")}); },
              ThrowsMessage<Error>(HasSubstr("1 trace events, none with a length")));
  EXPECT_THAT([&] { load({}); }, ThrowsMessage<Error>(HasSubstr("nothing to read")));
}

TEST_F(LoadTimelineTest, MissingAndUnreadableInputsAreAnError) {
  EXPECT_THAT([&] { load({path("none")}); }, ThrowsMessage<Error>(HasSubstr(path("none"))));
  std::filesystem::create_directory(path("empty"));
  EXPECT_THAT([&] { load({path("empty")}); }, ThrowsMessage<Error>(HasSubstr("workerlog.<rank>")));
}

TEST_F(LoadTimelineTest, TheRunIsPassedOn) {
  const std::string log = test::logOf(test::oneFOneB(1, 1, 1), 0);
  const std::string both = log + test::logOf(test::oneFOneB(1, 2, 1), 0);
  const std::string file = write("workerlog.0", both);
  EXPECT_EQ(load({file}, {.run = 0}).eventCount(), 4U);  // lr, 1F0, 1B0, optimizer
  EXPECT_EQ(load({file}).eventCount(), 6U);
  EXPECT_THROW(load({file}, {.run = 2}), Error);
}

TEST_F(LoadTimelineTest, AProfileNotesThatItHoldsOneRun) {
  const std::string profile = writeProfile(test::oneFOneB(2, 2, 1), "a.json");
  load({profile});
  EXPECT_THAT(told(), IsEmpty());
  load({profile}, {.run = 3});
  EXPECT_THAT(told(), ElementsAre(HasSubstr("a.json: note: a profile holds one run only")));
}

TEST_F(LoadTimelineTest, EveryFormatHasOneReader) {
  const auto readers = makeTraceReaders();
  EXPECT_EQ(chooseReader(readers, "[{\"ph\":\"X\"}]")->formatName(), "Chrome JSON");
  EXPECT_EQ(chooseReader(readers, " {\"traceEvents\":[]}")->formatName(), "Chrome JSON");
  EXPECT_EQ(chooseReader(readers, "{\"a\":1}")->formatName(), "Chrome JSON");
  EXPECT_EQ(chooseReader(readers, "[INFO] start\n")->formatName(), "job log");
  EXPECT_EQ(chooseReader(readers, "")->formatName(), "job log");
  EXPECT_EQ(chooseReader(readers, "Profiler Info: Job (0)\n")->formatName(), "job log");
}

}  // namespace
}  // namespace pipetrace
