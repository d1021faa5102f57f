#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// The kinds of work of the what-if analysis. Jobs and transfers are of their JobKind. Collectives,
/// `data` and `default` jobs with different names are of different kinds, as long as these names
/// are few: names that differ from event to event are no kinds.
class WorkKinds {
 public:
  using Id = std::uint16_t;

  /// Call add() for each event, then finish(), then the others. The timeline must outlive it.
  explicit WorkKinds(const Timeline& timeline) : timeline_(timeline) {}

  void add(const Event& event) { add(event.kind, event); }
  /// The same; `kind` is the event's, which need not be looked at in many cases.
  void add(JobKind kind, const Event& event);
  void add(const WorkKinds& other);
  void finish();

  std::size_t count() const { return kinds_.size(); }
  Id of(const Event& event) const { return of(event.kind, event); }
  /// The same; `kind` is the event's, which need not be looked at in most cases.
  Id of(JobKind kind, const Event& event) const {
    const Names& names = names_[index(kind)];
    return names.isOne ? names.kind : names.kinds.at(event.name);
  }
  /// Whether its ideal is the median, not the mean: of transfers and collectives.
  bool isCommunication(Id kind) const { return kinds_[kind].isCommunication; }
  /// Index in setNames(): a send and its receive are in one.
  std::uint16_t setOf(Id kind) const { return kinds_[kind].set; }
  const std::vector<std::string>& setNames() const { return setNames_; }

 private:
  struct Kind {
    bool isCommunication = false;
    std::uint16_t set = 0;
  };
  struct Names {
    std::map<StringId, Id> kinds;  // by name
    bool isOne = true;             // the names are not told apart
    Id kind = 0;                   // if so
    StringId latest = ~StringId{0};
  };

  static std::size_t index(JobKind kind) { return static_cast<std::size_t>(kind); }
  std::uint16_t setNamed(const std::string& name);

  const Timeline& timeline_;
  std::array<Names, kJobKindCount> names_{};
  std::vector<Kind> kinds_;
  std::vector<std::string> setNames_;
};

}  // namespace pipetrace
