#pragma once

#include <cstdint>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// Which arrows a profile shows. The jobs and transfers of one micro-batch in one step and replica
/// are one chain in order of their begin: forward through the stages, then back. In it are forward,
/// fused, backward and input-gradient jobs, sends, and those receives that begin after what was
/// sent to them (a receive that is posted early is no link between its neighbours).
///
/// Two events of a chain that begin at the same instant could not be told apart by a viewer that
/// orders them by time, so only the first of them is a link.
class ChromeFlows {
 public:
  struct Link {
    std::uint32_t id = 0;  ///< of the chain, from 1; 0: the event is in none
    bool in = false;       ///< an arrow ends here
    bool out = false;      ///< an arrow begins here
  };

  /// No arrows.
  ChromeFlows() = default;
  /// The arrows of a sorted timeline. O(n log n) in its events.
  explicit ChromeFlows(const Timeline& timeline);

  /// Positions are those in Timeline::tracks and Track::events.
  Link link(std::size_t track, std::size_t event) const {
    return links_.empty() || links_[track].empty() ? Link{} : links_[track][event];
  }

  std::int64_t arrows() const { return arrows_; }

 private:
  std::vector<std::vector<Link>> links_;  // by track and event; empty for tracks without any
  std::int64_t arrows_ = 0;
};

}  // namespace pipetrace
