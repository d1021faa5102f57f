#pragma once

#include <vector>

#include "parser/foreign/names/job_names.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Gives events of other programs' traces the kinds and numbers that their names, categories and
/// arguments tell.
class ForeignNames {
 public:
  /// The category of an event is its argument of this name.
  static constexpr std::string_view kCategory = "category";

  /// `asked` (may be null) and `timeline`, whose events these are, must outlive it.
  ForeignNames(const KindNames* asked, Timeline& timeline)
      : timeline_(timeline), names_(asked), category_(timeline.strings.intern(kCategory)) {}

  /// Empty for none.
  StringId categoryOf(const Event& event) const;

  /// Gives the event what its name says, else what its category says. What the user asked for goes
  /// before all, then a kind that the event has (but a kernel may turn out to be a collective).
  void describe(Event& event);

  /// Whether the user asks for anything.
  bool isAsked() const { return names_.isAsked(); }

  /// The same, but with nothing else than what the user asked for. False if that is nothing.
  bool describeAsAsked(Event& event);

  /// Whether an event said where in the pipeline its rank is (`pp_rank`).
  bool hasPositions() const { return hasPositions_; }

  /// What a text of the timeline says as a name.
  const JobName& known(StringId text);

  /// Sets what `name` says and the event does not have, and takes the event's fields out of
  /// arguments that other programs call otherwise ("iteration", "pp_rank"). `pp_rank` becomes the
  /// stage.
  void give(Event& event, const JobName& name);

 private:
  void takeArguments(Event& event);
  bool takeArgument(const Argument& argument, Event& event);

  Timeline& timeline_;
  JobNames names_;
  std::vector<const JobName*> known_;  // by the id of the string
  StringId category_;
  bool hasPositions_ = false;
};

}  // namespace pipetrace
