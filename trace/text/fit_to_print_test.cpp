#include "trace/text/fit_to_print.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

TEST(FitToPrint, OrdinaryTextStaysAsItIs) {
  const std::string text = "rank 3\tÄ ± 漢字 👍\n";
  EXPECT_EQ(fitToPrint(text), text);
  EXPECT_EQ(fitToPrint(""), "");
}

TEST(FitToPrint, ControlCharactersAreQuestionMarks) {
  EXPECT_EQ(fitToPrint("a\x1b[31mb\x07 c\rd\x7f"), "a?[31mb? c?d?");
  EXPECT_EQ(fitToPrint(std::string_view("a\0b", 3)), "a?b");
  EXPECT_EQ(fitToPrint("a\u009b31mb\u0085c"), "a?31mb?c") << "C1";
}

TEST(FitToPrint, TextOfOneLineStaysInIt) {
  EXPECT_EQ(fitInLine("a\nerror: b\tc\x1b"), "a?error: b?c?");
}

TEST(FitToPrint, ChangesOfDirectionAreQuestionMarks) {
  EXPECT_EQ(fitToPrint("a\u202eb\u2066c\u200fd\u061ce\u2028f"), "a?b?c?d?e?f");
}

TEST(FitToPrint, BytesThatAreNoUtf8AreQuestionMarks) {
  EXPECT_EQ(fitToPrint("a\x9b b\xc3 c\xff"), "a? b? c?");
  EXPECT_EQ(fitToPrint("a\xe2\x80"), "a??");
}

}  // namespace
}  // namespace pipetrace
