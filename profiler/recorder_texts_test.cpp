// Names that a program makes up, and arguments that are no job, stream or rank.
#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "profiler/cpu_stream.h"
#include "profiler/pipetrace.h"
#include "profiler/ring/ring_texts.h"
#include "profiler/testing/recorder_fixture.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::SizeIs;

/// A recorder through the C header, with a stream 0.
pipetrace_recorder* opened(const RecordedLog& log) {
  pipetrace_options options;
  pipetrace_options_init(&options);
  options.enabled = PIPETRACE_ON;
  options.log_directory = log.folder().c_str();
  pipetrace_recorder* recorder = nullptr;
  EXPECT_EQ(pipetrace_open(&options, &recorder), 0) << pipetrace_error();
  EXPECT_EQ(pipetrace_add_stream(recorder, "compute"), 0);
  return recorder;
}

TEST(RecorderTextsTest, NamesMadeUpInOneBufferStayApart) {
  RecordedLog log;
  pipetrace_recorder* const recorder = opened(log);
  std::array<char, 16> buffer{};
  for (int i = 0; i < 4; ++i) {
    std::snprintf(buffer.data(), buffer.size(), "gpu%d", i);
    pipetrace_counter(recorder, pipetrace_text(recorder, buffer.data()), i, nullptr);
    std::snprintf(buffer.data(), buffer.size(), "%dF0", i);
    pipetrace_job job;
    pipetrace_job_init(&job, PIPETRACE_FORWARD);
    job.action = pipetrace_text(recorder, buffer.data());
    pipetrace_begin(recorder, 0, &job);
    pipetrace_end(recorder, 0);
  }
  buffer.fill('x');
  EXPECT_EQ(pipetrace_close(recorder), 0);
  EXPECT_THAT(log.lines(kInfo), ElementsAre(EndsWith("action = 0F0"), EndsWith("action = 1F0"),
                                            EndsWith("action = 2F0"), EndsWith("action = 3F0")));
  for (int i = 0; i < 4; ++i) {
    const std::string name = "name = gpu" + std::to_string(i);
    EXPECT_THAT(log.lines("Profiler Counter: "), Contains(HasSubstr(name)));
  }
}

TEST(RecorderTextsTest, EqualTextsAreKeptOnceAndNoneWhereTheRecorderIsOff) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  EXPECT_EQ(recorder.text("1F2"), recorder.text(std::string("1F2")));
  EXPECT_STREQ(recorder.text("1F2"), "1F2");
  EXPECT_STREQ(recorder.text(""), "");
  Recorder off({.isOn = false});
  EXPECT_STREQ(off.text("1F2"), "");
  EXPECT_STREQ(pipetrace_text(nullptr, "1F2"), "");
}

TEST(RecorderTextsTest, ALongTextIsCutBetweenTwoCharacters) {
  RecordedLog log;
  const std::string action = std::string(1023, 'a') + std::string(2'000'000, '\xc3');
  std::string name = "s" + std::string(512, 'n');
  for (int i = 0; i < 1000; ++i) name += "\u00e9";
  Recorder recorder(optionsFor(log));
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  const StreamId other = recorder.addStream(name, std::make_unique<CpuStream>());
  recorder.begin(compute, {.action = action.c_str()});
  recorder.end(compute);
  recorder.begin(other, {});
  recorder.end(other);
  recorder.counter(action.c_str(), 1);
  recorder.close();
  EXPECT_LT(log.text().size(), 20'000u);
  EXPECT_THAT(log.lines(kInfo).at(0), HasSubstr(std::string(1023, 'a')));
  EXPECT_THAT(log.lines("Profiler Stream: ").at(0), HasSubstr(name.substr(0, 1023) + "\""));
  EXPECT_EQ(shortText("1F2"), "1F2");
  EXPECT_THAT(shortText(std::string_view(name)), SizeIs(1023)) << "1024 would cut a character";
}

TEST(RecorderTextsTest, AnArgumentThatIsNoJobIsCountedAsAnError) {
  RecordedLog log;
  pipetrace_recorder* const recorder = opened(log);
  pipetrace_job job;
  std::memset(&job, 0, sizeof(job));
  EXPECT_EQ(pipetrace_begin(recorder, 0, &job), PIPETRACE_NOT_GIVEN);
  pipetrace_end(recorder, 0);
  EXPECT_EQ(pipetrace_begin(recorder, 0, nullptr), PIPETRACE_NOT_GIVEN);
  pipetrace_end(recorder, 0);
  (pipetrace_job_init)(&job, PIPETRACE_BACKWARD);  // by name, as of version 0.1
  EXPECT_EQ(pipetrace_begin(recorder, 0, &job), 0);
  pipetrace_end(recorder, 0);
  EXPECT_EQ(pipetrace_close(recorder), 0);
  EXPECT_THAT(log.lines(kInfo), ElementsAre(HasSubstr("type = backward,")));
  EXPECT_EQ(log.number(kEnd, "misuses"), 2);
  EXPECT_EQ(log.number(kEnd, "errors"), 2);
}

TEST(RecorderTextsTest, AnUnknownKindIsRecordedAsOther) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  recorder.begin(compute, {.kind = static_cast<JobKind>(200)});
  recorder.end(compute);
  recorder.close();
  EXPECT_THAT(log.lines(kInfo), ElementsAre(HasSubstr("type = other,")));
}

TEST(RecorderTextsTest, MissingStreamsFunctionsAndRanksAreRefused) {
  RecordedLog log;
  RecorderOptions options = optionsFor(log);
  Recorder recorder(options);
  EXPECT_THAT(messageOf([&] { recorder.addStream("send", nullptr); }), HasSubstr("\"send\""));
  EXPECT_THAT(messageOf([&] { recorder.addCounter("loss", "", nullptr); }), HasSubstr("\"loss\""));
  options.info.rank = -1;
  EXPECT_THAT(messageOf([&] { Recorder none(options); }), HasSubstr("rank -1"));
  options.info.rank = 1;
  options.info.worldSize = -3;
  EXPECT_THAT(messageOf([&] { Recorder none(options); }), HasSubstr("-3 ranks"));
  EXPECT_FALSE(std::filesystem::exists(log.path(1)));
}

TEST(RecorderTextsTest, ACounterThatThrowsEndsNothingAndIsCounted) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  recorder.addCounter("bad", "", []() -> double { throw std::runtime_error("no value"); });
  recorder.flush();
  recorder.close();
  EXPECT_GE(log.number(kEnd, "misuses"), 1);
  EXPECT_THAT(log.lines("Profiler Counter: "), SizeIs(0));
}

}  // namespace
}  // namespace pipetrace
