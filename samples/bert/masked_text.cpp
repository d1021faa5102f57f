#include "samples/bert/masked_text.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "samples/bert/wordpiece/word_pieces.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

constexpr std::int64_t kSpecial = 3;     // of a row: [CLS] and two [SEP]
constexpr std::int64_t kShortRows = 10;  // one in this many
constexpr double kPredictedShare = 0.15;
constexpr std::int64_t kShares = 10;  // of predicted pieces: one stays, one is any, the rest [MASK]

/// Draws numbers that are the same with every standard library.
class Draws {
 public:
  Draws(std::uint64_t seed, int step) : random_(sequenceOf(seed, step)) {}

  /// From 0 to below `limit`.
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }

 private:
  static std::mt19937_64 sequenceOf(std::uint64_t seed, int step) {
    std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                           static_cast<std::uint32_t>(step)};
    return std::mt19937_64(sequence);
  }

  std::mt19937_64 random_;
};

}  // namespace

MaskedText::MaskedText(const std::string& text, std::string name, const WordPieces& vocabulary)
    : name_(std::move(name)),
      pieces_(vocabulary.encode(text)),
      numPieces_(vocabulary.size()),
      padding_(vocabulary.numberOf("[PAD]")),
      begin_(vocabulary.numberOf("[CLS]")),
      separator_(vocabulary.numberOf("[SEP]")),
      mask_(vocabulary.numberOf("[MASK]")) {}

Batch MaskedText::rows(std::uint64_t seed, int step, std::int64_t count,
                       std::int64_t length) const {
  if (length < kShortest) {
    throw Error(fmt::format("a row has at least {} pieces, not {}", kShortest, length));
  }
  if (this->length() < length) {
    throw Error(
        fmt::format("{} has {} pieces, but training needs at least {}; give a longer text with "
                    "--data or a shorter --length",
                    name_, this->length(), length));
  }
  const at::Tensor ids = at::full({count, length}, padding_, at::kLong);
  const at::Tensor segments = at::zeros({count, length}, at::kLong);
  const at::Tensor mask = at::zeros({count, length}, at::kBool);
  const at::Tensor targets = at::full({count, length}, kNotPredicted, at::kLong);
  Draws draws(seed, step);
  std::vector<std::int64_t> places;  // of the row's pieces, special ones apart
  for (std::int64_t row = 0; row < count; ++row) {
    std::int64_t* const id = ids.mutable_data_ptr<std::int64_t>() + row * length;
    std::int64_t* const segment = segments.mutable_data_ptr<std::int64_t>() + row * length;
    std::int64_t* const target = targets.mutable_data_ptr<std::int64_t>() + row * length;
    const bool isShort = draws.below(kShortRows) == 0;
    const std::int64_t used = isShort ? kShortest + draws.below(length - kShortest + 1) : length;
    const std::int64_t ofText = used - kSpecial;
    const std::int64_t ofFirst = 1 + draws.below(ofText - 1);
    const std::int64_t* from = pieces_.data() + draws.below(this->length() - ofText + 1);
    places.clear();
    for (std::int64_t at = 0; at < used; ++at) {
      segment[at] = at > ofFirst + 1 ? 1 : 0;
      if (at == 0) {
        id[at] = begin_;
      } else if (at == ofFirst + 1 || at + 1 == used) {
        id[at] = separator_;
      } else {
        id[at] = *from++;
        places.push_back(at);
      }
    }
    std::fill_n(mask.mutable_data_ptr<bool>() + row * length, used, true);
    const auto predicted =
        std::max<std::int64_t>(1, std::llround(kPredictedShare * static_cast<double>(ofText)));
    for (std::int64_t i = 0; i < predicted; ++i) {
      std::swap(places[static_cast<std::size_t>(i)],
                places[static_cast<std::size_t>(i + draws.below(ofText - i))]);
      const std::int64_t at = places[static_cast<std::size_t>(i)];
      target[at] = id[at];
      const std::int64_t share = draws.below(kShares);
      if (share == 0) continue;
      id[at] = share == 1 ? draws.below(numPieces_) : mask_;
    }
  }
  return {{"ids", ids}, {"segments", segments}, {"mask", mask}, {"targets", targets}};
}

}  // namespace pipetrace
