#include "runtime/engine/config/config_file.h"

#include <gmock/gmock.h>

#include <ctime>

#include "runtime/engine/config/testing/written_config.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

ConfigValue readOne(const std::string& path) { return readConfigFile(path); }

class ConfigFileTest : public ::testing::Test, public WrittenFile<readOne> {
 protected:
  ConfigFileTest() : WrittenFile("a file.yml") {}
};

TEST_F(ConfigFileTest, KeysAndValuesAreReadWithTheirLines) {
  const ConfigValue file = read(
      "# of a driver\n"
      "'directory': 'bert'\n"
      "'machines': ['localhost:0', 'localhost:1']\n"
      "\n"
      "'learning_rate': 0.05\n"
      "'container': ~\n"
      "'maps': {'0': [1, 2]}\r\n");
  ASSERT_THAT(file.entries, SizeIs(5));
  EXPECT_EQ(file.entries[0].key, "directory");
  EXPECT_EQ(file.entries[0].line, 2);
  EXPECT_EQ(file.entries[0].value.text, "bert");
  ASSERT_THAT(file.entries[1].value.items, SizeIs(2));
  EXPECT_EQ(file.entries[1].value.items[1].text, "localhost:1");
  EXPECT_EQ(file.entries[2].line, 5);
  EXPECT_EQ(file.entries[2].value.text, "0.05");
  EXPECT_EQ(file.entries[3].value.kind, ConfigValue::Kind::kNothing);
  EXPECT_EQ(jsonOf(file.entries[4].value), R"({"0": [1, 2]})");
}

TEST_F(ConfigFileTest, AQuotedNothingIsAText) {
  const ConfigValue file = read("a: '~'\nb: null\nc: 'null'\n");
  EXPECT_EQ(file.entries[0].value.text, "~");
  EXPECT_EQ(file.entries[1].value.kind, ConfigValue::Kind::kNothing);
  EXPECT_EQ(file.entries[2].value.text, "null");
}

TEST_F(ConfigFileTest, AByteOrderMarkIsPassedOver) {
  const ConfigValue file = read(
      "\xef\xbb\xbf"
      "epochs: 3\n");
  ASSERT_THAT(file.entries, SizeIs(1));
  EXPECT_EQ(file.entries[0].key, "epochs");
  EXPECT_EQ(file.entries[0].line, 1);
}

TEST_F(ConfigFileTest, TabsSeparateButDoNotIndent) {
  const ConfigValue file = read("epochs:\t3\t# a comment\nmodule:\t\t'x'\n");
  EXPECT_EQ(file.entries[0].value.text, "3");
  EXPECT_EQ(file.entries[1].value.text, "x");
  EXPECT_EQ(errorOf("epochs: 3\n\tmodule: x\n"),
            path() + ":2: a line of YAML is indented with blanks, not with tabs");
  EXPECT_THAT(errorOf("epochs: 3\nmaps:\n\t0: 1\n"),
              AllOf(StartsWith(path() + ":3: "), HasSubstr("not with tabs")));
}

TEST_F(ConfigFileTest, FilesThatAreNoConfigurationAreRefusedWithTheirLine) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ":1: it has no keys and values"},
      {"- a\n- b\n", ":1: it has no keys and values"},
      {"just words\n", ":1: it has no keys and values"},
      {"a: 1\nb: [1, 2\nc: 3\n", ":2: the bracket [ is not closed"},
      {"a: 1\nb: {c: d\n", ":2: the bracket { is not closed"},
      {"a: 1\n\nb: [1,\n 2\nc: [3]\nd: x[1\n", ":3: the bracket [ is not closed"},
      {"a: it's\nb: 'c # ]\nd: 1\n", ":2: the quote ' is not closed"},
      {"a: 1\nb: c: d\n", ":2: there is a second colon before a blank; put the value in quotes"},
      {"a: 1\nsteps 3\n", ":2: a colon and a blank are missing after steps"},
      {"a: 1\nsteps 3  # b: c\n\n# none\nd: 4\n",
       ":2: a colon and a blank are missing after steps"},
      {"steps 3\nd: 4\n", ":1: a colon and a blank are missing after steps"},
      {"a: 1\nsteps:3\n", ":2: a blank is missing after steps:"},
      {"a: 1\nsteps:3\nd: 4\n", ":2: a blank is missing after steps:"},
      {"a: 1\nb: ]\n", ":2: this is no YAML: "},
      {"a: &x 1\nb: *x\n", ":1: anchors and aliases are not read here"},
      {"a: 1\n---\nb: 2\n", ": a second document begins here"},
      {"? [a]\n: b\n", ":1: a key is a word"},
      {std::string("a: 1\0\n", 6), "bytes that are 0"}};
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(errorOf(text), AllOf(HasSubstr(path()), HasSubstr(message))) << text;
  }
  EXPECT_THAT([&] { readConfigFile(path("")); },
              ::testing::ThrowsMessage<Error>(HasSubstr("it is a folder")));
  EXPECT_THAT([&] { readConfigFile("/no/such.yml"); },
              ::testing::ThrowsMessage<Error>(HasSubstr("cannot read /no/such.yml: No such file")));
}

TEST_F(ConfigFileTest, FilesOf10MBAreReadOrRefusedSoon) {
  constexpr std::size_t kSize = 10'000'000;
  const auto repeated = [](const std::string& piece) {
    std::string text;
    while (text.size() < kSize) text += piece;
    return text;
  };
  const std::clock_t start = std::clock();  // of this process, as machines may be busy
  const ConfigValue file = read(repeated("# nothing but words\n") + "epochs: 3\n");
  EXPECT_EQ(file.entries.at(0).line, static_cast<int>(kSize / 20) + 1);
  EXPECT_EQ(read("a: '" + std::string(kSize, 'x') + "'\n").entries.at(0).value.text.size(), kSize);
  EXPECT_THAT(errorOf("a: [" + repeated("1,") + "1]\n"),
              HasSubstr("a file.yml:1: it has more than 100000 values"));
  std::string keys;
  for (int i = 0; keys.size() < kSize; ++i) keys += "key" + std::to_string(i) + ": 1\n";
  EXPECT_THAT(errorOf(keys), HasSubstr("a file.yml:50001: it has more than 100000 values"));
  EXPECT_THAT(errorOf("a: " + repeated("[") + "\n"), HasSubstr("nested too deeply"));
  for (const char* const piece : {"? ", "x", "- ", "\x80", "{\"a\":", "\" \\", "a: b: "}) {
    const std::string error = errorOf(repeated(piece));
    EXPECT_THAT(error, HasSubstr("a file.yml")) << piece;
    EXPECT_LT(error.size(), 400U) << piece;
  }
  EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, 60);
}

TEST_F(ConfigFileTest, TextsOfMessagesAreShortAndPlain) {
  EXPECT_EQ(shownText("learning_rat"), "learning_rat");
  EXPECT_EQ(shownText("a\nb\x1b[0m"), "a?b?[0m");
  EXPECT_THAT(shownText(std::string(1'000'000, 'x')), SizeIs(64));
}

}  // namespace
}  // namespace pipetrace
