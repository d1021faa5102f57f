#include "samples/bert/wordpiece/words.h"

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

}  // namespace pipetrace
