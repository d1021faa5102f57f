#include "viewer/words/option_words.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

std::string said(const char* sentence) {
  return withWhoseOptions(QString::fromUtf8(sentence)).toStdString();
}

TEST(OptionWordsTest, OptionsThatTheWindowLacksAreSaidToBeThoseOfPipeTrace) {
  EXPECT_EQ(said("--steps leaves it out"),
            "--steps leaves it out (options of pipe-trace: open the profile that it writes with "
            "-o)");
  EXPECT_EQ(said("--align causal moves them"),
            "--align causal moves them (an option of pipe-view, which opens the run so)");
}

TEST(OptionWordsTest, OptionsOfAdviceAreThoseOfWhatIfs) {
  EXPECT_EQ(withWhoseWhatIfOptions(QStringLiteral("--blocks FILE says what they take")),
            QStringLiteral("--blocks FILE says what they take (options of pipe-trace what-if)"));
}

TEST(OptionWordsTest, SentencesWithoutOptionsOrWithTheirOwnersStayAsTheyAre) {
  for (const char* sentence :
       {"give slower stages fewer layers", "pipe-trace info --json lists each",
        "as what-if --schedule says", "the router (Megatron-LM: --moe-aux-loss-coeff)"}) {
    EXPECT_EQ(said(sentence), sentence);
  }
}

}  // namespace
}  // namespace pipetrace
