#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pipetrace {

/// A mistake that people make in YAML.
struct YamlMistake {
  int line = 0;  ///< from 1 on
  std::string what;
};

/// Looks for the mistake because of which a parser stopped in `line` (from 1 on). It is often in a
/// line before that one. It may be a tab as indentation, or a bracket or a quote that is not
/// closed. It may be a key without a colon and a blank, or two of these in one line. Empty: none of
/// these.
std::optional<YamlMistake> yamlMistake(std::string_view text, int line);

/// A quote that is open at the end of a text, which yaml-cpp closes there without a word. Empty:
/// none, or the text has blocks of text ("|"), in which a quote means nothing.
std::optional<YamlMistake> openQuote(std::string_view text);

/// Says what is missing in a line that was read as a key without a value, such as "steps 3" or
/// "steps:3". Empty: nothing.
std::string missingIn(std::string_view key);

}  // namespace pipetrace
