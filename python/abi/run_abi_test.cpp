#include <gmock/gmock.h>

#include <cstdint>
#include <memory>
#include <string>

#include "python/abi/json_options.h"
#include "python/abi/pipetrace_run.h"
#include "python/abi/table.h"
#include "trace/error.h"

extern "C" int pipetraceLookFromC(const char* options, char* error, int size);

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The message that making options of a text throws.
std::string errorOf(const char* text) {
  try {
    JsonOptions options(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(OptionsWordsTest, KeysBecomeOptionsAndListsRepeatThem) {
  const JsonOptions options(
      R"({"micro_batches": 8, "scale": ["rank=1:0.8", "kind=transfer:0"], "no-launch": true,)"
      R"( "keep_batch": false, "split": null, "limit": 2.5})");
  EXPECT_THAT(options.words(),
              ElementsAre("--micro-batches=8", "--scale=rank=1:0.8", "--scale=kind=transfer:0",
                          "--no-launch", "--limit=2.5"));
}

TEST(OptionsWordsTest, ATakenOptionIsNoWordAnyMore) {
  JsonOptions options(R"({"inputs": ["a", "b"], "pp": 4})");
  EXPECT_THAT(options.take("inputs"), ElementsAre("a", "b"));
  EXPECT_THAT(options.words(), ElementsAre("--pp=4"));
  EXPECT_THAT(options.take("inputs"), IsEmpty());
}

TEST(OptionsWordsTest, NoTextIsNoOptions) {
  EXPECT_THAT(JsonOptions(nullptr).words(), IsEmpty());
  EXPECT_THAT(JsonOptions("").words(), IsEmpty());
}

TEST(OptionsWordsTest, WhatIsNoObjectOfOptionsIsRefused) {
  EXPECT_THAT(errorOf("[1]"), HasSubstr("options are a JSON object"));
  EXPECT_THAT(errorOf("{\"a\""), HasSubstr("options are a JSON object"));
  EXPECT_THAT(errorOf(R"({"scale": {"rank": 1}})"), HasSubstr("the option scale is a text"));
}

/// The table {number: 7, missing, 9; word: b, missing, b; truth: false, true, true}.
std::shared_ptr<Table> smallTable() {
  auto table = std::make_shared<Table>(3);
  TableColumn& number = table->add("number", TableColumn::Type::kInt64);
  TableColumn& word = table->add("word", TableColumn::Type::kWord);
  TableColumn& truth = table->add("truth", TableColumn::Type::kBool);
  const std::int64_t numbers[] = {7, -1, 9};
  const bool truths[] = {false, true, true};
  for (const char* text : {"a", "b"}) word.texts().add(text);
  const std::int8_t words[] = {1, -1, 1};
  for (int i = 0; i < 3; ++i) {
    number.values<std::int64_t>()[i] = numbers[i];
    word.values<std::int8_t>()[i] = words[i];
    truth.values<bool>()[i] = truths[i];
  }
  for (TableColumn* const each : {&number, &word, &truth}) each->complete();
  return table;
}

TEST(TableTest, AStreamHasOneBatchOfTheColumns) {
  ArrowArrayStream stream{};
  exportTable(smallTable(), &stream);
  ArrowSchema schema{};
  ArrowArray batch{};
  ASSERT_EQ(stream.get_schema(&stream, &schema), 0);
  ASSERT_EQ(stream.get_next(&stream, &batch), 0);
  ArrowArray end{};
  ASSERT_EQ(stream.get_next(&stream, &end), 0);
  EXPECT_EQ(end.release, nullptr);
  stream.release(&stream);
  EXPECT_EQ(stream.release, nullptr);

  // Both live on without the stream.
  ASSERT_EQ(schema.n_children, 3);
  EXPECT_STREQ(schema.format, "+s");
  EXPECT_STREQ(schema.children[0]->name, "number");
  EXPECT_STREQ(schema.children[0]->format, "l");
  EXPECT_STREQ(schema.children[1]->format, "c");
  EXPECT_STREQ(schema.children[1]->dictionary->format, "u");
  EXPECT_STREQ(schema.children[2]->format, "b");
  EXPECT_EQ(batch.length, 3);
  const ArrowArray& number = *batch.children[0];
  EXPECT_EQ(number.null_count, 1);
  EXPECT_EQ(*static_cast<const std::uint8_t*>(number.buffers[0]), 0b101);
  EXPECT_EQ(static_cast<const std::int64_t*>(number.buffers[1])[2], 9);
  const ArrowArray& word = *batch.children[1];
  EXPECT_EQ(static_cast<const std::int8_t*>(word.buffers[1])[0], 0) << "a does not occur";
  EXPECT_EQ(word.dictionary->length, 1);
  EXPECT_EQ(*static_cast<const char*>(word.dictionary->buffers[2]), 'b');
  EXPECT_EQ(batch.children[2]->buffers[0], nullptr);
  EXPECT_EQ(*static_cast<const std::uint8_t*>(batch.children[2]->buffers[1]), 0b110);
  batch.release(&batch);
  schema.release(&schema);
}

TEST(TableTest, AChildThatWasMovedAwayOutlivesItsParent) {
  ArrowArrayStream stream{};
  exportTable(smallTable(), &stream);
  ArrowArray batch{};
  ASSERT_EQ(stream.get_next(&stream, &batch), 0);
  stream.release(&stream);
  ArrowArray child = *batch.children[0];
  batch.children[0]->release = nullptr;
  batch.release(&batch);
  EXPECT_EQ(static_cast<const std::int64_t*>(child.buffers[1])[0], 7);
  child.release(&child);
}

/// A folder with logs of a simulated plan.
std::string plannedLogs(const std::string& name) {
  const std::string folder = testing::TempDir() + name;
  const std::string options = R"({"schedule": "1F1B", "ranks": 4, "micro_batches": 8, "steps": 3,)"
                              R"( "json": true, "output": ")" +
                              folder + R"(/"})";
  char* error = nullptr;
  char* const text =
      pipetrace_run_ask(nullptr, nullptr, "plan", options.c_str(), nullptr, nullptr, &error);
  EXPECT_NE(text, nullptr) << (error == nullptr ? "" : error);
  pipetrace_run_free_text(text);
  return folder;
}

TEST(RunAbiTest, AProgramInCReadsARunAndItsTables) {
  const std::string options = R"({"inputs": [")" + plannedLogs("pipetrace-from-c") + R"("]})";
  char error[256] = "";
  EXPECT_EQ(pipetraceLookFromC(options.c_str(), error, sizeof(error)), 4 * 16 * 3) << error;
  EXPECT_EQ(pipetraceLookFromC(R"({"inputs": ["/nowhere"]})", error, sizeof(error)), -1);
  EXPECT_STREQ(error, "cannot open /nowhere: No such file or directory; check the name");
}

TEST(RunAbiTest, ProgressIsShownAndAnotherResultThanZeroCancels) {
  const std::string options =
      R"({"inputs": [")" + plannedLogs("pipetrace-cancelled") + R"("], "threads": 1})";
  char* error = nullptr;
  pipetrace_task* const task = pipetrace_run_start_load(options.c_str());
  pipetrace_task_cancel(task);
  EXPECT_EQ(pipetrace_task_wait(task, -1), 1);
  EXPECT_THAT(pipetrace_task_error(task), HasSubstr("cancelled"));
  EXPECT_EQ(pipetrace_task_take_run(task), nullptr);
  pipetrace_task_free(task);

  int calls = 0;
  const auto count = [](const char* what, std::int64_t, std::int64_t, void* context) {
    EXPECT_STREQ(what, "trying");
    return ++*static_cast<int*>(context) > 0 ? 1 : 0;
  };
  pipetrace_run* const run = pipetrace_run_load(options.c_str(), nullptr, nullptr, &error);
  ASSERT_NE(run, nullptr) << error;
  char* const text = pipetrace_run_ask(run, nullptr, "advise", nullptr, count, &calls, &error);
  EXPECT_TRUE(calls == 0 || text == nullptr) << "advice that takes long was cancelled";
  pipetrace_run_free_text(text);
  pipetrace_run_free_text(error);
  pipetrace_run_free(run);
}

TEST(RunAbiTest, QuestionsWithoutARunAndUnknownOnesAreErrors) {
  char* error = nullptr;
  const auto ask = [&](const char* question, const char* options) {
    char* const text =
        pipetrace_run_ask(nullptr, nullptr, question, options, nullptr, nullptr, &error);
    EXPECT_EQ(text, nullptr);
    std::string message = error == nullptr ? "" : error;
    pipetrace_run_free_text(error);
    return message;
  };
  EXPECT_EQ(ask("report", nullptr), "this question is about a run, and there is none");
  EXPECT_EQ(ask("reports", nullptr), "there is no question reports; did you mean report?");
  EXPECT_THAT(ask("plan", "1"), HasSubstr("options are a JSON object"));
  ArrowArrayStream stream{};
  EXPECT_EQ(pipetrace_run_table(nullptr, "jobs", &stream, nullptr, nullptr, &error), -1);
  EXPECT_STREQ(error, "a table is of a run, and there is none");
  pipetrace_run_free_text(error);
  pipetrace_task_free(nullptr);
  pipetrace_run_free(nullptr);
}

}  // namespace
}  // namespace pipetrace
