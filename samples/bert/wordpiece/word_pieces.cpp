#include "samples/bert/wordpiece/word_pieces.h"

#include <fmt/format.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <iterator>

#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr UChar32 kReplacement = 0xFFFD;

template <typename Do>
void forEachCharacter(std::string_view text, const Do& run) {
  const auto size = static_cast<std::int32_t>(text.size());
  for (std::int32_t at = 0; at < size;) {
    UChar32 character = 0;
    U8_NEXT_OR_FFFD(text.data(), at, size, character);
    run(character);
  }
}

void append(std::string& text, UChar32 character) {
  char bytes[U8_MAX_LENGTH];
  std::int32_t length = 0;
  U8_APPEND_UNSAFE(bytes, length, character);
  text.append(bytes, static_cast<std::size_t>(length));
}

bool isLeftOut(UChar32 character) {
  if (character == '\t' || character == '\n' || character == '\r') return false;
  constexpr std::uint32_t kOthers = U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK;
  return character == kReplacement || (U_GET_GC_MASK(character) & kOthers) != 0;
}

/// The blocks of CJK Unified Ideographs and of their compatibility forms, as BERT has them.
bool isChinese(UChar32 character) {
  constexpr UChar32 kRanges[][2] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                    {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F},
                                    {0x2B820, 0x2CEAF}, {0x2F800, 0x2FA1F}};
  return std::any_of(std::begin(kRanges), std::end(kRanges), [&](const auto& range) {
    return range[0] <= character && character <= range[1];
  });
}

bool isMarkOfPunctuation(UChar32 character) {
  const bool isSign = character > 0x20 && character < 0x7F && u_isalnum(character) == 0;
  return isSign || (U_GET_GC_MASK(character) & U_GC_P_MASK) != 0;
}

/// The text without what is left out, and with blanks around Chinese characters.
std::string cleaned(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  forEachCharacter(text, [&](UChar32 character) {
    if (isLeftOut(character)) return;
    if (u_isUWhiteSpace(character) != 0) {
      result += ' ';
    } else if (isChinese(character)) {
      result += ' ';
      append(result, character);
      result += ' ';
    } else {
      append(result, character);
    }
  });
  return result;
}

std::string decomposed(const std::string& text) {
  UErrorCode code = U_ZERO_ERROR;
  const icu::Normalizer2* const nfd = icu::Normalizer2::getNFDInstance(code);
  std::string result;
  if (U_SUCCESS(code) != 0) {
    icu::StringByteSink<std::string> sink(&result);
    nfd->normalizeUTF8(0, text, sink, nullptr, code);
  }
  if (U_FAILURE(code) != 0) {
    throw Error(std::string("ICU cannot normalize a text: ") + u_errorName(code));
  }
  return result;
}

constexpr const char* kUnknown = "[UNK]";
constexpr std::string_view kInner = "##";

bool startsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

}  // namespace

std::vector<std::string> bertWords(std::string_view utf8) {
  std::vector<std::string> words;
  std::string word;
  const auto endWord = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  forEachCharacter(decomposed(cleaned(utf8)), [&](UChar32 character) {
    if (u_charType(character) == U_NON_SPACING_MARK) return;
    const UChar32 small = u_tolower(character);
    if (u_isUWhiteSpace(small) != 0) return endWord();
    if (isMarkOfPunctuation(small)) {
      endWord();
      append(word, small);
      return endWord();
    }
    append(word, small);
  });
  endWord();
  return words;
}

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
