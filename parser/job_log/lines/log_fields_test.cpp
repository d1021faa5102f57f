#include "parser/job_log/lines/log_line.h"

#include <gmock/gmock.h>

#include <utility>
#include <vector>

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Split {
  Pairs pairs;
  bool malformed = false;
};

Split split(std::string_view text) {
  LogFields fields(text);
  LogFields::Field field;
  Split result;
  while (fields.next(field)) {
    result.pairs.emplace_back(field.key, (field.quoted ? "q:" : "") + std::string(field.value));
  }
  result.malformed = fields.malformed();
  return result;
}

TEST(LogFieldsTest, PairsAreSplitAtCommaAndBlank) {
  const Split s = split("id = 41, stream = compute, loss=0.5");
  EXPECT_THAT(s.pairs,
              ElementsAre(Pair("id", "41"), Pair("stream", "compute"), Pair("loss", "0.5")));
  EXPECT_FALSE(s.malformed);
}

TEST(LogFieldsTest, ACommaWithoutBlankBelongsToTheValue) {
  EXPECT_THAT(split("shape = 1,2,3, n = 4").pairs,
              ElementsAre(Pair("shape", "1,2,3"), Pair("n", "4")));
}

TEST(LogFieldsTest, QuotedValuesMayHoldTheSeparator) {
  const Split s = split(R"(action = "(0F7;7B3), x = 1", note = "a \"b\", c\\", id = 2)");
  EXPECT_THAT(s.pairs, ElementsAre(Pair("action", "q:(0F7;7B3), x = 1"),
                                   Pair("note", "q:a \"b\", c\\"), Pair("id", "2")));
  EXPECT_FALSE(s.malformed);
}

TEST(LogFieldsTest, EmptyQuotedValuesStay) {
  EXPECT_THAT(split(R"(a = "", b = 1)").pairs, ElementsAre(Pair("a", "q:"), Pair("b", "1")));
}

TEST(LogFieldsTest, APartThatIsNoPairIsSkippedAndRemembered) {
  for (const char* text : {"id = 1, nonsense", "id = 1, = 2", "id = 1, a =", "id = 1, a = \"open",
                           "id = 1, a = \"x\" y", R"(id = 1, a = "\q")"}) {
    const Split s = split(text);
    EXPECT_THAT(s.pairs, ElementsAre(Pair("id", "1"))) << text;
    EXPECT_TRUE(s.malformed) << text;
  }
}

TEST(LogFieldsTest, AnEmptyTextHasNoPair) {
  EXPECT_THAT(split("").pairs, IsEmpty());
  EXPECT_FALSE(split("").malformed);
}

}  // namespace
}  // namespace pipetrace
