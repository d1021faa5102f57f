#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/train/data/data_loader.h"

namespace pipetrace {

class WordPieces;

/// A text from which rows for masked language modelling are drawn, as in Devlin et al., "BERT",
/// 2019, section 3.1 and appendix A.1. No next sentence is predicted.
///
/// A row is [CLS] A [SEP] B [SEP], where A and B are neighbours in the text, and then [PAD] up to
/// the length. One row in ten is short. 15 % of a row's pieces, special ones apart, are to be
/// predicted, at least one. Eight in ten of them are [MASK], one in ten is any piece, and one in
/// ten is as it was.
class MaskedText {
 public:
  static constexpr std::int64_t kNotPredicted = -100;
  static constexpr std::int64_t kShortest = 8;  ///< row, in pieces

  /// `text` is UTF-8, `name` is for errors.
  MaskedText(const std::string& text, std::string name, const WordPieces& vocabulary);

  /// Rows of `length` pieces, the same for the same seed and step. All tensors are [rows, length]:
  ///
  ///     ids       the pieces
  ///     segments  0 up to the first [SEP] and at [PAD], else 1
  ///     mask      true where there is a piece
  ///     targets   the piece that is to be predicted, else kNotPredicted
  ///
  /// Throws Error if a row is to be shorter than kShortest, or longer than the text.
  Batch rows(std::uint64_t seed, int step, std::int64_t count, std::int64_t length) const;

  std::int64_t length() const { return static_cast<std::int64_t>(pieces_.size()); }

 private:
  std::string name_;
  std::vector<std::int64_t> pieces_;
  std::int64_t numPieces_ = 0;  // of the vocabulary
  std::int64_t padding_ = 0;
  std::int64_t begin_ = 0;
  std::int64_t separator_ = 0;
  std::int64_t mask_ = 0;
};

}  // namespace pipetrace
