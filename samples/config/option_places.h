#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/engine/config/run_config.h"
#include "trace/error.h"

namespace pipetrace {

/// "--lr-warmup" for lr_warmup.
std::string flagOf(std::string name);

/// Options of a program that come from a configuration file, for errors that are about them. Those
/// of the command line are not among them.
struct OptionPlaces {
  std::string file;  ///< empty: there is none
  std::vector<ConfigOption> options;

  /// "FILE:LINE: key: error", with the option that the error names first, or the first of `flags`
  /// that is there. Else the error as it is. The option's name at its beginning is left out.
  std::string placed(const std::string& error, const std::vector<std::string>& flags = {}) const;
};

/// An error that is about the value of an option, but does not name it.
class OptionError : public Error {
 public:
  OptionError(std::vector<std::string> flags, const std::string& text)
      : Error(text), flags_(std::move(flags)) {}
  const std::vector<std::string>& flags() const { return flags_; }

 private:
  std::vector<std::string> flags_;
};

/// Calls `body`, whose errors are about these options: the first of them that a file has.
template <typename Body>
auto aboutOption(const std::vector<std::string>& flags, const Body& body) {
  try {
    return body();
  } catch (const OptionError&) {
    throw;
  } catch (const Error& error) {
    throw OptionError(flags, error.what());
  }
}

/// Calls `body`; its errors get the place of the option that they are about.
template <typename Body>
auto withPlaces(const OptionPlaces& places, const Body& body) {
  try {
    return body();
  } catch (const OptionError& error) {
    throw Error(places.placed(error.what(), error.flags()));
  } catch (const Error& error) {
    const std::string text = places.placed(error.what());
    if (text == error.what()) throw;
    throw Error(text);
  }
}

}  // namespace pipetrace
