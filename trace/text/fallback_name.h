#pragma once

#include <array>
#include <string_view>

#include "trace/event.h"

namespace pipetrace {

/// The name of an event that has none in its log: "forward 3", "optimizer", "bubble warm_up". The
/// kind comes first, because Perfetto colours slices by their names without digits. Allocates no
/// memory.
class FallbackName {
 public:
  explicit FallbackName(const Event& event);

  std::string_view text() const { return {text_.data(), size_}; }

 private:
  std::array<char, 48> text_;
  std::size_t size_ = 0;
};

/// Whether this or an earlier version makes up that name for the event.
bool isFallbackName(const Event& event, std::string_view name);

}  // namespace pipetrace
