#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pipetrace {

/// Cuts a text into words as the original BERT, uncased, does before it looks for pieces: Devlin et
/// al., "BERT", 2019, BasicTokenizer of google-research/bert.
///
/// Control and format characters, those for private use and bytes that are no UTF-8 are left out.
/// Accents are taken off (NFD without nonspacing marks), and letters made small. Blanks end words.
/// A punctuation mark is a word of its own, and so is a Chinese character. Other signs of ASCII
/// that are no letters or digits count as punctuation.
///
/// Unicode is that of ICU. Hugging Face's tokenizers 0.23 cut characters up to Unicode 8 in the
/// same way, but for six whose category has changed since. They do not take U+2B820 to U+2B91F for
/// Chinese, and know less of newer characters. Throws Error where ICU fails.
std::vector<std::string> bertWords(std::string_view utf8);

/// A vocabulary of WordPiece, by which texts are cut into pieces (Wu et al., "Google's Neural
/// Machine Translation System", 2016; Devlin et al., "BERT", 2019). The first piece is the longest
/// with which the word begins. The rest is cut in the same way into pieces that begin with "##".
///
/// Threads: encode() may be called by several at a time.
class WordPieces {
 public:
  /// A word of more characters is unknown, as in Hugging Face's tokenizers.
  static constexpr std::size_t kLongestWord = 100;

  /// `vocabulary`: a piece a line; its number is that of its line, from 0. `name`: of the
  /// vocabulary, for errors. Throws Error for a piece that is there twice, an empty line, and where
  /// [PAD], [UNK], [CLS], [SEP] or [MASK] is missing.
  WordPieces(std::string_view vocabulary, const std::string& name);

  /// The numbers of a text's pieces (bertWords()). A word that cannot be cut is one unknown piece.
  /// The names of special pieces in the text mean nothing.
  std::vector<std::int64_t> encode(std::string_view utf8) const;

  std::int64_t size() const { return static_cast<std::int64_t>(numbers_.size()); }
  /// The number of a piece. Throws Error if there is none.
  std::int64_t numberOf(std::string_view piece) const;

 private:
  void addPiecesOf(const std::string& word, std::vector<std::int64_t>& pieces) const;

  std::string name_;
  std::map<std::string, std::int64_t, std::less<>> numbers_;
  std::size_t longest_ = 0;  // piece, in bytes
  std::int64_t unknown_ = 0;
};

/// vocab.txt, which train_vocabulary.py has made.
std::string_view usualVocabulary();

}  // namespace pipetrace
