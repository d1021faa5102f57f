#pragma once

#include <array>
#include <string>
#include <string_view>

#include "trace/event.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The text that a viewer writes on an event: the event's name, or FallbackName where it has none.
std::string displayName(const Timeline& timeline, const Event& event);

/// The pipeline literature's short form: "F3", "B3", "I3", "W3"; empty for kinds that have none.
std::string shortName(const Event& event);

/// The name of an action of a plan, as schedule files write it: the stage and the short form, such
/// as "1F2". Only the short form where the stage is not known.
std::string actionName(const Event& event);
std::string actionName(int stage, const std::string& shortForm);

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
