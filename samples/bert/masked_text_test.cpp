#include "samples/bert/masked_text.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/testing/error_of.h"
#include "samples/bert/wordpiece/word_pieces.h"

namespace pipetrace {
namespace {

using testing::errorOf;
using ::testing::HasSubstr;

constexpr std::int64_t kPad = 0;
constexpr std::int64_t kCls = 2;
constexpr std::int64_t kSep = 3;
constexpr std::int64_t kMask = 4;
constexpr std::int64_t kFirstWord = 5;
constexpr std::int64_t kWords = 500;  // of the text, each once: w0 w1 …
constexpr std::int64_t kLength = 40;
constexpr std::int64_t kRows = 2000;

/// A text of words that are a piece each, in the order of their numbers.
MaskedText countedText() {
  std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  std::string text;
  for (std::int64_t i = 0; i < kWords; ++i) {
    const std::string word = "w" + std::to_string(i);
    vocabulary += word + "\n";
    text += word + " ";
  }
  return {text, "the text", WordPieces(vocabulary, "the vocabulary")};
}

std::vector<std::int64_t> rowOf(const at::Tensor& tensor, std::int64_t row) {
  const at::Tensor numbers = tensor[row].to(at::kLong).contiguous();
  return {numbers.data_ptr<std::int64_t>(), numbers.data_ptr<std::int64_t>() + numbers.numel()};
}

TEST(MaskedText, ARowIsTwoNeighboursOfTheTextBetweenSpecialPieces) {
  const Batch batch = countedText().rows(1, 0, kRows, kLength);
  std::int64_t shortRows = 0;
  for (std::int64_t row = 0; row < kRows; ++row) {
    std::vector<std::int64_t> ids = rowOf(batch.at("ids"), row);
    const auto segments = rowOf(batch.at("segments"), row);
    const auto mask = rowOf(batch.at("mask"), row);
    const auto targets = rowOf(batch.at("targets"), row);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (targets[i] != MaskedText::kNotPredicted) ids[i] = targets[i];
    }
    const auto used = std::accumulate(mask.begin(), mask.end(), std::int64_t{0});
    shortRows += used < kLength ? 1 : 0;
    ASSERT_GE(used, MaskedText::kShortest);
    ASSERT_EQ(ids[0], kCls);
    ASSERT_EQ(std::count(ids.begin(), ids.end(), kSep), 2);
    ASSERT_EQ(ids[static_cast<std::size_t>(used - 1)], kSep);
    std::int64_t last = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const bool isUsed = i < static_cast<std::size_t>(used);
      ASSERT_EQ(mask[i], isUsed ? 1 : 0);
      ASSERT_EQ(ids[i] == kPad, !isUsed);
      const auto firstSeparator = std::find(ids.begin(), ids.end(), kSep) - ids.begin();
      ASSERT_EQ(segments[i], isUsed && static_cast<std::ptrdiff_t>(i) > firstSeparator ? 1 : 0);
      if (ids[i] < kFirstWord) continue;
      if (last != 0) {
        ASSERT_EQ(ids[i], last + 1) << "neighbours in the text";
      }
      last = ids[i];
    }
  }
  EXPECT_NEAR(static_cast<double>(shortRows) / kRows, 0.1 * 32 / 33, 0.02);
}

// A whole row has 37 words, of which round(0.15 * 37) = 6 are to be predicted.
TEST(MaskedText, FifteenInAHundredArePredictedAndMostOfTheseAreMasked) {
  const Batch batch = countedText().rows(2, 0, kRows, kLength);
  double masked = 0;
  double kept = 0;
  double predicted = 0;
  for (std::int64_t row = 0; row < kRows; ++row) {
    const auto ids = rowOf(batch.at("ids"), row);
    const auto targets = rowOf(batch.at("targets"), row);
    int ofRow = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (targets[i] == MaskedText::kNotPredicted) {
        ASSERT_NE(ids[i], kMask);
        continue;
      }
      ASSERT_GE(targets[i], kFirstWord) << "special pieces are not predicted";
      ++ofRow;
      masked += ids[i] == kMask ? 1 : 0;
      kept += ids[i] == targets[i] ? 1 : 0;
    }
    ASSERT_GE(ofRow, 1);
    if (ids.back() != kPad) {
      ASSERT_EQ(ofRow, 6);
    }
    predicted += ofRow;
  }
  EXPECT_NEAR(masked / predicted, 0.8, 0.02);
  EXPECT_NEAR(kept / predicted, 0.1, 0.02);
}

TEST(MaskedText, RowsDependOnSeedAndStepAlone) {
  const MaskedText text = countedText();
  const Batch first = text.rows(7, 3, 4, kLength);
  for (const auto& [name, tensor] : text.rows(7, 3, 4, kLength)) {
    EXPECT_TRUE(tensor.equal(first.at(name))) << name;
  }
  EXPECT_FALSE(text.rows(7, 4, 4, kLength).at("ids").equal(first.at("ids")));
  EXPECT_FALSE(text.rows(8, 3, 4, kLength).at("ids").equal(first.at("ids")));
}

TEST(MaskedText, RowsThatAreTooShortOrLongerThanTheTextAreRefused) {
  const MaskedText text = countedText();
  EXPECT_EQ(text.length(), kWords);
  EXPECT_THAT(errorOf([&] { text.rows(1, 0, 1, 7); }), HasSubstr("at least 8 pieces, not 7"));
  EXPECT_THAT(errorOf([&] { text.rows(1, 0, 1, kWords + 1); }),
              HasSubstr("the text has 500 pieces, but training needs at least 501"));
  EXPECT_EQ(text.rows(1, 0, 3, 8).at("ids").sizes(), (std::vector<std::int64_t>{3, 8}));
  EXPECT_EQ(text.rows(1, 0, 3, kWords).at("ids").size(1), kWords);
}

}  // namespace
}  // namespace pipetrace
