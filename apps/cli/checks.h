#pragma once

#include <CLI/CLI.hpp>

#include <cmath>
#include <string>

namespace pipetrace {

/// Refuses an empty text: "--file: it is empty".
inline CLI::Validator notEmpty(const std::string& error = "it is empty") {
  return CLI::Validator([error](std::string& text) { return text.empty() ? error : std::string(); },
                        "");
}

/// A number from `least` to `most`, without a word about it in the help.
template <typename Number>
CLI::Validator range(Number least, Number most) {
  return CLI::Range(least, most).description("");
}

/// A number above 0; CLI11's own check says so with a number of 309 digits.
inline CLI::Validator aboveZero() {
  return CLI::Validator(
      [](const std::string& text) {
        double number = 0;
        return CLI::detail::lexical_cast(text, number) && number > 0 && std::isfinite(number)
                   ? std::string()
                   : text + " is no number above 0";
      },
      "");
}

/// The most activations that a limit may name.
inline constexpr double kMostActivations = 1e9;

/// A number from 1 to `most`.
inline CLI::Validator upTo(int most) { return range(1, most); }

}  // namespace pipetrace
