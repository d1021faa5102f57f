#pragma once

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

}  // namespace pipetrace
