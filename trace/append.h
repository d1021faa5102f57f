#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trace/string_remap.h"
#include "trace/timeline.h"

/// How a part, with strings and arguments of its own, is joined to a timeline: its strings are
/// interned there (StringRemap), its arguments are appended, and its events follow (EventRemap).
namespace pipetrace {

/// Appends the arguments in `list` to `all` and points `event` to them. At most 65535; the rest is
/// cut off.
void setArguments(Event& event, std::span<const Argument> list, std::vector<Argument>& all);

/// Makes the events of a part refer to the strings and arguments of the timeline that it is joined
/// to. Each event goes through it once.
class EventRemap {
 public:
  /// The part has the strings of the timeline; its arguments come at `firstArgument`.
  explicit EventRemap(std::size_t firstArgument)
      : firstArgument_(static_cast<std::uint32_t>(firstArgument)) {}
  /// `strings` must outlive it, and grow no more.
  EventRemap(const StringRemap& strings, std::size_t firstArgument)
      : strings_(strings.isIdentity() ? nullptr : &strings),
        firstArgument_(static_cast<std::uint32_t>(firstArgument)) {}

  void operator()(Event& event) const {
    if (strings_ != nullptr) event.name = (*strings_)[event.name];
    if (event.argumentCount > 0) event.firstArgument += firstArgument_;
  }
  void operator()(std::vector<Event>& events) const;

 private:
  const StringRemap* strings_ = nullptr;  // null: ids stay
  std::uint32_t firstArgument_ = 0;
};

/// Appends the arguments of a part to `all`, and leaves the part with the strings of `all`. Returns
/// what its events have to go through.
EventRemap appendArguments(std::vector<Argument>& part, const StringRemap& strings,
                           std::vector<Argument>& all);

/// Appends `part` to `all`; where `all` is empty, without a copy.
template <typename Element>
void append(std::vector<Element>&& part, std::vector<Element>& all) {
  if (all.empty()) {
    all = std::move(part);
  } else {
    all.insert(all.end(), part.begin(), part.end());
  }
}

/// Makes the strings and arguments of `part` those of `timeline`, to which its events point then.
/// Its tracks, counters and ranks stay in it. An empty timeline takes those of
/// `part` without a copy.
void appendStringsAndArguments(Timeline& part, Timeline& timeline);

/// Appends everything in `part`: events to those of the same lane, counters after those that are
/// there. The facts that `timeline` has of a rank stay. Nothing is
/// sorted.
void append(Timeline part, Timeline& timeline);

}  // namespace pipetrace
