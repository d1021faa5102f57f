#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trace/strings/string_table.h"
#include "trace/timeline.h"

/// Joins a part, which has its own strings and arguments, to a timeline. StringRemap interns its
/// strings there, its arguments are appended, and EventRemap changes its events accordingly.
namespace pipetrace {

/// Appends the arguments in `list` to `all` and points `event` to them. Arguments after the first
/// 65535 are dropped.
void setArguments(Event& event, std::span<const Argument> list, std::vector<Argument>& all);

/// Makes the events of a part refer to the strings and arguments of the timeline that it is joined
/// to. Each event goes through it once.
class EventRemap {
 public:
  /// For a part that shares the strings of the timeline. Its arguments begin at `firstArgument`.
  explicit EventRemap(std::size_t firstArgument)
      : firstArgument_(static_cast<std::uint32_t>(firstArgument)) {}
  /// `strings` must outlive this object and must not grow any more.
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

/// Appends the arguments of a part to `all`, with the strings of `all`. Returns the remap that each
/// event of the part needs.
EventRemap appendArguments(std::vector<Argument>& part, const StringRemap& strings,
                           std::vector<Argument>& all);

/// Appends `part` to `all`, without a copy if `all` is empty.
template <typename Element>
void append(std::vector<Element>&& part, std::vector<Element>& all) {
  if (all.empty()) {
    all = std::move(part);
  } else {
    all.insert(all.end(), part.begin(), part.end());
  }
}

/// Appends the strings and arguments of `part` to those of `timeline`, to which its events point
/// afterwards. Its tracks, counters and ranks stay in it. An empty timeline takes the strings and
/// arguments without a copy.
void appendStringsAndArguments(Timeline& part, Timeline& timeline);

/// Appends all of `part`: events to the track of the same lane, counters after those that are
/// there. The RankInfo that `timeline` has of a rank stays. Sorts nothing.
void append(Timeline part, Timeline& timeline);

}  // namespace pipetrace
