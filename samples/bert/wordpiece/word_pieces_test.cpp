#include "samples/bert/wordpiece/word_pieces.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/testing/error_of.h"
#include "runtime/testing/rank_processes.h"
#include "samples/files/read_file.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using testing::errorOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ProcessEnd;
using testing::runProcess;
using testing::ScratchFolder;

const std::string kRoom = test::inSources("samples/bert/wordpiece/");

TEST(BertWords, BlanksAndPunctuationEndWordsAndEachMarkIsOne) {
  EXPECT_THAT(bertWords("Don't  stop,\tever...\n"),
              ElementsAre("don", "'", "t", "stop", ",", "ever", ".", ".", "."));
  EXPECT_THAT(bertWords("a$b a^b a“b” x–y"),
              ElementsAre("a", "$", "b", "a", "^", "b", "a", "“", "b", "”", "x", "–", "y"));
  EXPECT_THAT(bertWords(""), IsEmpty());
  EXPECT_THAT(bertWords(" \u00a0\u3000\u2028 "), IsEmpty());
}

TEST(BertWords, LettersAreSmallAndHaveNoAccents) {
  EXPECT_THAT(bertWords("Éclair naïve ÅNGSTRÖM Ω"),
              ElementsAre("eclair", "naive", "angstrom", "ω"));
  EXPECT_THAT(bertWords("e\u0301\u0302te"), ElementsAre("ete")) << "accents of their own";
  EXPECT_THAT(bertWords("İSTANBUL STRASSE ß"), ElementsAre("istanbul", "strasse", "ß"));
  EXPECT_THAT(bertWords("\u0301"), IsEmpty()) << "an accent without a letter";
}

TEST(BertWords, ChineseCharactersAreWordsAndKanaAreNot) {
  EXPECT_THAT(bertWords("abc中文def"), ElementsAre("abc", "中", "文", "def"));
  EXPECT_THAT(bertWords("日本のこと"), ElementsAre("日", "本", "のこと"));
  EXPECT_THAT(bertWords("\U00020000x\U0002B820"), ElementsAre("\U00020000", "x", "\U0002B820"));
}

TEST(BertWords, ControlAndFormatCharactersAndBrokenBytesAreLeftOut) {
  EXPECT_THAT(bertWords(std::string("a\0b\x01\x7f", 5)), ElementsAre("ab"));
  EXPECT_THAT(bertWords("co\u00adope\u200brate\ufeff"), ElementsAre("cooperate"));
  EXPECT_THAT(bertWords("\ue000a\ufffd"), ElementsAre("a"));
  EXPECT_THAT(bertWords("a\xff\xfe"
                        "b \xe2\x82"),
              ElementsAre("ab"));
}

constexpr const char* kSmall =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##aff\n##able\n##a\nu\n中\n##中\n\u00e6\n";

// By hand: the longest piece first.
TEST(WordPieces, AWordIsCutIntoItsLongestPieces) {
  const WordPieces pieces(kSmall, "small");
  EXPECT_EQ(pieces.size(), 13);
  EXPECT_THAT(pieces.encode("unaffable"), ElementsAre(5, 6, 7));
  EXPECT_THAT(pieces.encode("unaa u"), ElementsAre(5, 8, 8, 9));
  EXPECT_THAT(pieces.encode("una中 æ"), ElementsAre(5, 8, 10, 12)) << "a character is a word";
}

TEST(WordPieces, AWordThatCannotBeCutIsOneUnknownPiece) {
  const WordPieces pieces(kSmall, "small");
  EXPECT_THAT(pieces.encode("unaffx un"), ElementsAre(1, 5));
  EXPECT_THAT(pieces.encode("xun, un"), ElementsAre(1, 1, 5));
  EXPECT_THAT(pieces.encode("[MASK]"), ElementsAre(1, 1, 1)) << "brackets are punctuation";
}

TEST(WordPieces, AWordOfMoreThanAHundredCharactersIsUnknown) {
  const WordPieces pieces(kSmall, "small");
  EXPECT_EQ(pieces.encode("u" + std::string(99, 'a')).size(), 100U);
  EXPECT_THAT(pieces.encode("u" + std::string(100, 'a')), ElementsAre(1));
}

TEST(WordPieces, AVocabularyWithAMistakeIsRefusedWithItsLine) {
  EXPECT_THAT(errorOf([] { WordPieces("[PAD]\na\n\nb\n", "v.txt"); }),
              HasSubstr("v.txt, line 3: the piece is empty"));
  EXPECT_THAT(errorOf([] { WordPieces("[PAD]\na\nb\na\n", "v.txt"); }),
              HasSubstr("v.txt, line 4: the piece a is there already"));
  EXPECT_THAT(errorOf([] { WordPieces("[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "v.txt"); }),
              HasSubstr("v.txt has no piece [MASK]"));
  EXPECT_EQ(WordPieces("[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]", "v.txt").size(), 5);
}

TEST(WordPieces, TheUsualVocabularyIsTheCommittedFile) {
  EXPECT_EQ(usualVocabulary(), readFile(kRoom + "vocab.txt"));
  EXPECT_EQ(WordPieces(usualVocabulary(), "the usual vocabulary").size(), 4096);
}

/// Compares the pieces of each line with those that another tokenizer has given. Returns the number
/// of lines.
int expectSamePieces(const std::string& path) {
  const WordPieces pieces(usualVocabulary(), "the usual vocabulary");
  std::ifstream in(path);
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    const nlohmann::json one = nlohmann::json::parse(line);
    EXPECT_EQ(pieces.encode(one.at("text").get<std::string>()),
              one.at("ids").get<std::vector<std::int64_t>>())
        << "line " << lines + 1 << ": " << one.at("text").dump();
  }
  return lines;
}

TEST(WordPieces, LinesOfManyScriptsHaveThePiecesOfTokenizers) {
  EXPECT_EQ(expectSamePieces(kRoom + "expected_ids.jsonl"), 300);
}

/// A Python with the package tokenizers of PyPI, if there is one.
std::string pythonWithTokenizers() {
  const char* const given = std::getenv("PIPETRACE_TOKENIZERS_PYTHON");
  return given != nullptr ? given : "python3";
}

bool hasTokenizers(const std::string& python) {
  return runProcess(
             {"/usr/bin/env", python, kRoom + "expected_ids.py", "--look", kRoom + "vocab.txt"})
             .exitCode == 0;
}

TEST(WordPieces, AThousandOtherLinesHaveThePiecesOfTokenizers) {
  const std::string python = pythonWithTokenizers();
  if (!hasTokenizers(python)) GTEST_SKIP() << python << " cannot import tokenizers";
  const ScratchFolder folder;
  const ProcessEnd end = runProcess({"/usr/bin/env", python, kRoom + "expected_ids.py",
                                     kRoom + "vocab.txt", "2", "1000", folder.path("lines")});
  ASSERT_EQ(end.exitCode, 0) << end.output;
  EXPECT_EQ(expectSamePieces(folder.path("lines")), 1000);
}

// The licences are those of Debian 12; another system may have others.
TEST(WordPieces, TheVocabularyIsThatOfItsScript) {
  const std::string python = pythonWithTokenizers();
  if (!hasTokenizers(python)) GTEST_SKIP() << python << " cannot import tokenizers";
  const ScratchFolder folder;
  const ProcessEnd end = runProcess(
      {"/usr/bin/env", python, kRoom + "train_vocabulary.py", folder.path("vocabulary")});
  if (end.exitCode == 3) GTEST_SKIP() << end.output;
  ASSERT_EQ(end.exitCode, 0) << end.output;
  EXPECT_EQ(readFile(folder.path("vocabulary")), usualVocabulary());
}

}  // namespace
}  // namespace pipetrace
