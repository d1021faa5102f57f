#pragma once

#include <array>
#include <string_view>

#include "trace/event.h"

namespace pipetrace {

/// The name that an event without one of its own gets: the kind first and the numbers after it
/// ("forward 3", "optimizer", "bubble warm_up"), because Perfetto colours slices by their name with
/// the digits stripped. Made without any memory but its own.
class MadeUpName {
 public:
  explicit MadeUpName(const Event& event);

  std::string_view text() const { return {text_.data(), size_}; }

 private:
  std::array<char, 48> text_;
  std::size_t size_ = 0;
};

}  // namespace pipetrace
