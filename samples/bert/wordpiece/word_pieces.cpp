#include "samples/bert/wordpiece/word_pieces.h"

#include <fmt/format.h>

#include <algorithm>

#include "samples/bert/wordpiece/words.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

constexpr const char* kUnknown = "[UNK]";
constexpr std::string_view kInner = "##";

bool startsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

}  // namespace

WordPieces::WordPieces(std::string_view vocabulary, const std::string& name) : name_(name) {
  std::int64_t number = 0;
  while (!vocabulary.empty()) {
    const std::size_t end = std::min(vocabulary.find('\n'), vocabulary.size());
    std::string_view piece = vocabulary.substr(0, end);
    vocabulary.remove_prefix(std::min(end + 1, vocabulary.size()));
    if (!piece.empty() && piece.back() == '\r') piece.remove_suffix(1);
    if (piece.empty())
      throw Error(fmt::format("{}, line {}: the piece is empty", name, number + 1));
    if (!numbers_.emplace(piece, number).second) {
      throw Error(
          fmt::format("{}, line {}: the piece {} is there already", name, number + 1, piece));
    }
    longest_ = std::max(longest_, piece.size());
    ++number;
  }
  for (const char* const special : {"[PAD]", kUnknown, "[CLS]", "[SEP]", "[MASK]"}) {
    numberOf(special);
  }
  unknown_ = numberOf(kUnknown);
}

std::int64_t WordPieces::numberOf(std::string_view piece) const {
  const auto found = numbers_.find(piece);
  if (found == numbers_.end()) throw Error(fmt::format("{} has no piece {}", name_, piece));
  return found->second;
}

std::vector<std::int64_t> WordPieces::encode(std::string_view utf8) const {
  std::vector<std::int64_t> pieces;
  for (const std::string& word : bertWords(utf8)) addPiecesOf(word, pieces);
  return pieces;
}

void WordPieces::addPiecesOf(const std::string& word, std::vector<std::int64_t>& pieces) const {
  const std::size_t before = pieces.size();
  const auto isUnknown = [&] {
    pieces.resize(before);
    pieces.push_back(unknown_);
  };
  if (std::count_if(word.begin(), word.end(), startsCharacter) >
      static_cast<std::ptrdiff_t>(kLongestWord)) {
    return isUnknown();
  }
  for (std::size_t begin = 0; begin < word.size();) {
    std::string piece(begin == 0 ? "" : kInner);
    const std::size_t prefix = piece.size();
    piece.append(word, begin, longest_);
    auto found = numbers_.end();
    while (piece.size() > prefix && (found = numbers_.find(piece)) == numbers_.end()) {
      while (!startsCharacter(piece.back())) piece.pop_back();
      piece.pop_back();
    }
    if (found == numbers_.end()) return isUnknown();
    pieces.push_back(found->second);
    begin += piece.size() - prefix;
  }
}

}  // namespace pipetrace
