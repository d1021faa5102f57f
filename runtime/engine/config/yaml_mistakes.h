#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pipetrace {

/// What people get wrong in YAML.
struct YamlMistake {
  int line = 0;  ///< from 1 on
  std::string what;
};

/// Looks for the mistake because of which a parser stopped in `line` (from 1 on): a tab as
/// indentation, a bracket or a quote that is not closed, a key without a colon and a blank, or two
/// of these in one line. It is often in a line before that one. Empty: none of these.
std::optional<YamlMistake> yamlMistake(std::string_view text, int line);

/// A quote that is open at the end of a text, which yaml-cpp closes there without a word. Empty:
/// none, or the text has blocks of text ("|"), in which a quote means nothing.
std::optional<YamlMistake> openQuote(std::string_view text);

/// What is missing in a line that was read as a key without a value: "steps 3", "steps:3". Empty:
/// nothing.
std::string missingIn(std::string_view key);

}  // namespace pipetrace
