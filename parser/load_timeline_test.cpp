#include "parser/load_timeline.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <thread>

#include "parser/chrome/write/writer.h"
#include "parser/csv_writer.h"
#include "parser/perfetto/writer.h"
#include "parser/reader_registry.h"
#include "parser/sqlite/writer.h"
#include "parser/testing/files.h"
#include "parser/testing/gzip.h"
#include "parser/testing/load_timeline.h"
#include "parser/testing/timelines.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

class LoadTimelineTest : public test::FolderTest {
 protected:
  Timeline load(const std::vector<std::string>& inputs, LoadOptions options = {}) {
    diagnostics_ = {};
    return test::loadTimeline(inputs, options, diagnostics_);
  }
  std::vector<std::string> reported() const {
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
  template <typename Write>
  std::string writeInto(const std::string& name, const Write& write) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    OutputFile out(path(name));
    write(out);
    out.commit();
    return path(name);
  }
  std::string writeProfile(const Timeline& timeline, const std::string& name) {
    return writeInto(name, [&](OutputFile& out) { writeChromeJson(timeline, {}, out); });
  }

  Diagnostics diagnostics_;
};

TEST_F(LoadTimelineTest, AFolderOfLogsGivesOneTimeline) {
  const Timeline written = test::oneFOneB(4, 8, 2);
  EXPECT_EQ(test::describe(load({writeLogs(written, "logs")})), test::describe(written));
  EXPECT_THAT(reported(), IsEmpty());
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

TEST_F(LoadTimelineTest, SeveralFilesGiveOneTimeline) {
  const Timeline written = test::oneFOneB(3, 2, 1);
  writeLogs(written, "logs");
  std::vector<std::string> files;
  for (const char* name : {"logs/workerlog.2", "logs/workerlog.0", "logs/workerlog.1"}) {
    files.push_back(path(name));
  }
  EXPECT_EQ(test::describe(load(files)), test::describe(written));
}

TEST_F(LoadTimelineTest, FoldersOfMachinesAreSearched) {
  const std::string job =
      "Profiler Info: Job (0), type = forward, micro_batch_id = 0, job_start_time = 1.000000, "
      "job_end_time = 2.000000\n";
  for (const char* name :
       {"machine0/workerlog.0", "machine0/workerlog.1", "machine1/workerlog.0"}) {
    write(name, job);
  }
  EXPECT_THAT(load({folder_.string()}).ranks, ElementsAre(Key(0), Key(1), Key(2)));
}

TEST_F(LoadTimelineTest, ALogIsReadThroughAPipe) {
  const Timeline written = test::oneFOneB(1, 4, 1);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path("pipe")) << test::logOf(written, 0); });
  EXPECT_EQ(test::describe(load({path("pipe")})), test::describe(written));
  writer.join();
}

TEST_F(LoadTimelineTest, ALogThatIsStillBeingWrittenIsReadUpToItsEnd) {
  const std::string log = test::logOf(test::oneFOneB(1, 4, 1), 0);
  std::ofstream out(path("workerlog.0"));
  out << log.substr(0, log.find("job_end_time", log.size() / 2) + 20) << std::flush;
  EXPECT_GT(load({path("workerlog.0")}).eventCount(), 0U);
  EXPECT_THAT(reported(), ElementsAre(HasSubstr("the last line is cut off"),
                                      HasSubstr("no Profiler End line")));
}

TEST_F(LoadTimelineTest, AnEmptyLogAmongOthersIsReported) {
  const std::string folder = writeLogs(test::oneFOneB(2, 2, 1), "logs");
  write("logs/workerlog.1", "");
  EXPECT_THAT(load({folder}).ranks, ElementsAre(Key(0)));
  EXPECT_THAT(reported(), ElementsAre(AllOf(HasSubstr("workerlog.1: warning: no job in it"),
                                            HasSubstr("it is empty"))));
}

TEST_F(LoadTimelineTest, LogsWithoutAJobGiveAHintAtTheRangeOfSteps) {
  const std::string meta = "Profiler Meta: version = 1, rank = 0, clock = tsc\n";
  const std::string end = "Profiler End: written = 0, dropped = 0, errors = 0\n";
  write("none/workerlog.0", meta + end);
  write("none/workerlog.1", meta + end);
  EXPECT_THAT([&] { load({path("none")}); },
              ThrowsMessage<Error>(AllOf(HasSubstr("its program closed it without one"),
                                         HasSubstr("none in 1 more; PIPETRACE_STEPS may"),
                                         Not(HasSubstr("give a")))));
  const std::string cut = write("workerlog.2", meta);
  EXPECT_THAT([&] { load({cut}); }, ThrowsMessage<Error>(Not(HasSubstr("PIPETRACE_STEPS"))));
}

TEST_F(LoadTimelineTest, InputsThatHoldNothingAreAnError) {
  const std::string text(119, '\n');
  EXPECT_THAT(
      [&] { load({write("other.txt", text + "end\n")}); },
      ThrowsMessage<Error>(HasSubstr("no job in " + path("other.txt") +
                                     ": it holds 120 lines, none with \"Profiler Info:\"")));
  EXPECT_THAT(reported(), IsEmpty());  // the error has said it
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

TEST_F(LoadTimelineTest, TheRequestedRunIsRead) {
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
  EXPECT_THAT(reported(), IsEmpty());
  load({profile}, {.run = 3});
  EXPECT_THAT(reported(), ElementsAre(HasSubstr("a.json: note: a profile holds one run only")));
}

TEST_F(LoadTimelineTest, EveryFormatHasOneReader) {
  const auto readers = makeTraceReaders();
  EXPECT_EQ(readers.choose("[{\"ph\":\"X\"}]")->formatName(), "Chrome JSON");
  EXPECT_EQ(readers.choose(" {\"traceEvents\":[]}")->formatName(), "Chrome JSON");
  EXPECT_EQ(readers.choose("{\"a\":1}")->formatName(), "Chrome JSON");
  EXPECT_EQ(readers.choose("[INFO] start\n")->formatName(), "job log");
  EXPECT_EQ(readers.choose("")->formatName(), "job log");
  EXPECT_EQ(readers.choose("Profiler Info: Job (0)\n")->formatName(), "job log");
}

TEST_F(LoadTimelineTest, ProfilesInTheFolderOfTheirLogsDoNotCountTwice) {
  const Timeline written = test::oneFOneB(2, 2, 1);
  const std::string folder = writeLogs(written, "logs");
  writeProfile(written, "logs/profile.json");
  writeInto("logs/deeper/profile.pftrace",
            [&](OutputFile& out) { writePerfetto(written, {}, out); });
  writeInto("logs/profile.sqlite", [&](OutputFile& out) { writeSqlite(written, out); });
  write("logs/pipeline_profile.json",
        R"({"traceEvents": [)"
        R"({"name": "F0", "ph": "X", "ts": 1, "dur": 1, "pid": 0}]})");
  EXPECT_EQ(test::describe(load({folder})), test::describe(written));
  EXPECT_EQ(reported().size(), 4U);
  EXPECT_THAT(reported(), Each(AllOf(HasSubstr("note"), HasSubstr("left out"),
                                     HasSubstr("name it to read it"))));
  // A profile without its logs is read; of several profiles of one run, the first counts.
  for (const char* rank : {"logs/workerlog.0", "logs/workerlog.1", "logs/pipeline_profile.json"}) {
    std::filesystem::remove(path(rank));
  }
  EXPECT_EQ(test::describe(load({folder})), test::describe(written));
  EXPECT_THAT(reported(), Contains(AllOf(HasSubstr("profile.sqlite: warning: rank 0 was read from"),
                                         HasSubstr("profile.json already"))));
}

TEST_F(LoadTimelineTest, TracesOfOtherProgramsAreReadBesideLogs) {
  const Timeline written = test::oneFOneB(2, 2, 1);
  const std::string folder = writeLogs(written, "logs");
  write("logs/kernels.json",
        R"({"distributedInfo": {"rank": 1}, "baseTimeNanoseconds": 0, "traceEvents":
            [{"name": "k", "ph": "X", "ts": 1, "dur": 1, "pid": 1, "tid": 1}]})");
  EXPECT_EQ(load({folder}).eventCount(), written.eventCount() + 1);
  EXPECT_THAT(reported(), IsEmpty());
}

TEST_F(LoadTimelineTest, TracesOfRanksThatTheLogsDoNotKnowAreLeftOut) {
  const Timeline written = test::oneFOneB(2, 2, 1);
  const std::string folder = writeLogs(written, "logs");
  const char* const trace = R"([{"name": "F0", "ph": "X", "ts": 1, "dur": 1, "pid": 1, "tid": 1},
                                {"name": "F0", "ph": "X", "ts": 1, "dur": 1, "pid": 2, "tid": 1}])";
  write("logs/other.json", trace);
  EXPECT_EQ(test::describe(load({folder})), test::describe(written));
  EXPECT_THAT(reported(), ElementsAre(AllOf(HasSubstr("other.json: warning: was left out"),
                                            HasSubstr("it has rank 2"),
                                            HasSubstr("name it to read it all the same"))));
  EXPECT_EQ(load({folder, path("logs/other.json")}).ranks.size(), 4U);
  EXPECT_THAT(reported(), IsEmpty());
}

TEST_F(LoadTimelineTest, CompressedLogsOfAFolderAreItsLogs) {
  const Timeline written = test::oneFOneB(2, 2, 1);
  const std::string folder = writeLogs(written, "logs");
  write("logs/workerlog.1.gz", test::gzipped(contents("logs/workerlog.1")));
  EXPECT_EQ(test::describe(load({folder})), test::describe(written));
  EXPECT_THAT(reported(), ElementsAre(AllOf(HasSubstr("workerlog.1.gz: warning: was left out"),
                                            HasSubstr("workerlog.1 is there"))));
  std::filesystem::remove(path("logs/workerlog.1"));
  EXPECT_EQ(test::describe(load({folder})), test::describe(written));
  EXPECT_THAT(reported(), IsEmpty());
}

TEST_F(LoadTimelineTest, ACsvProfileIsAnErrorThatSaysCsvIsNotReadBack) {
  const std::string file =
      writeInto("p.csv", [](OutputFile& out) { writeCsv(test::oneFOneB(1, 1, 1), out); });
  EXPECT_THAT([&] { load({file}); },
              ThrowsMessage<Error>(AllOf(HasSubstr("p.csv"), HasSubstr("CSV is not read back"))));
}

TEST_F(LoadTimelineTest, FoundFilesThatAreNoTracesAreNoted) {
  const std::string folder = writeLogs(test::oneFOneB(2, 2, 1), "logs");
  write("logs/report.json", R"({"bubble_ratio": 0.25})");
  write("logs/empty.json", "");
  write("logs/rows.sqlite", std::string("SQLite format 3\0 and no more", 28));
  load({folder});
  EXPECT_THAT(reported(), UnorderedElementsAre(
                              AllOf(HasSubstr("report.json: note: holds no trace")),
                              AllOf(HasSubstr("empty.json: note: holds no trace")),
                              AllOf(HasSubstr("rows.sqlite: warning: the database is damaged")),
                              AllOf(HasSubstr("rows.sqlite: note: holds no trace"))));
  EXPECT_THROW(load({path("logs/report.json")}), Error);
}

TEST_F(LoadTimelineTest, ASecondLogOfARankIsLeftOutAndBothAreNamed) {
  const Timeline written = test::oneFOneB(2, 2, 1);
  writeLogs(written, "a");
  writeLogs(written, "b");
  std::size_t leftOut = 0;  // all that the log has
  for (const Track& track : written.tracks) leftOut += track.rank == 1 ? track.events.size() : 0;
  for (const CounterSeries& s : written.counters) leftOut += s.rank == 1 ? s.samples.size() : 0;
  EXPECT_EQ(test::describe(load({path("a"), path("b/workerlog.1")})), test::describe(written));
  EXPECT_THAT(reported(),
              ElementsAre(AllOf(
                  HasSubstr("b/workerlog.1: warning: rank 1 was read from"),
                  HasSubstr(path("a/workerlog.1")),
                  HasSubstr("(compute, recv, send, counter loss, counter memory) were left out"),
                  HasSubstr(" left out (" + std::to_string(leftOut) + " times)"))));
}

TEST_F(LoadTimelineTest, OneFileUnderTwoNamesIsReadOnce) {
  const Timeline written = test::oneFOneB(2, 2, 1);
  const std::string folder = writeLogs(written, "logs");
  std::filesystem::create_symlink(path("logs/workerlog.1"), path("copy"));
  EXPECT_EQ(test::describe(load({folder, path("copy")})), test::describe(written));
  EXPECT_THAT(reported(), ElementsAre(AllOf(HasSubstr("copy: warning: is the same file as"),
                                            HasSubstr("logs/workerlog.1"))));
}

TEST_F(LoadTimelineTest, TracesOfOneRankAtOtherTimesAreJoined) {
  const std::string first = writeProfile(test::oneFOneB(2, 2, 1), "first.json");
  Timeline later = test::oneFOneB(2, 2, 1);
  for (Track& track : later.tracks) {
    for (Event& event : track.events) {
      event.begin += 3600 * kNsPerSecond;
      event.end += 3600 * kNsPerSecond;
      event.step += 1;
    }
  }
  for (CounterSeries& series : later.counters) {
    for (CounterSample& sample : series.samples) sample.time += 3600 * kNsPerSecond;
  }
  const std::size_t events = later.eventCount();
  EXPECT_EQ(load({first, writeProfile(later, "second.json")}).eventCount(), 2 * events);
  EXPECT_THAT(reported(), Each(AllOf(HasSubstr("second.json: note"), HasSubstr("put together"))));
}

TEST_F(LoadTimelineTest, DevicesAndSocketsAreErrors) {
  EXPECT_THAT([&] { load({"/dev/zero"}); }, ThrowsMessage<Error>(HasSubstr("it is a device")));
  ASSERT_EQ(::mknod(path("socket").c_str(), S_IFSOCK | 0600, 0), 0);
  EXPECT_THAT([&] { load({path("socket")}); }, ThrowsMessage<Error>(HasSubstr("socket")));
  EXPECT_THAT([&] { load({"/dev/null"}); }, ThrowsMessage<Error>(HasSubstr("it is empty")));
}

TEST_F(LoadTimelineTest, ProgressEndsWithAllBytesRead) {
  const std::string folder = writeLogs(test::oneFOneB(3, 8, 2), "logs");
  std::int64_t size = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    size += static_cast<std::int64_t>(entry.file_size());
  }
  LoadProgress progress;
  load({folder}, {.progress = &progress});
  EXPECT_EQ(progress.bytesInAll, size);
  EXPECT_GE(progress.bytesRead, size);
}

TEST_F(LoadTimelineTest, ACancelledLoadEndsWithAnError) {
  const std::string folder = writeLogs(test::oneFOneB(3, 8, 2), "logs");
  LoadProgress progress;
  progress.isCancelled = true;
  EXPECT_THAT([&] { load({folder}, {.progress = &progress}); },
              ThrowsMessage<Error>(HasSubstr("was cancelled")));
}

}  // namespace
}  // namespace pipetrace
