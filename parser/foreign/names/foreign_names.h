#pragma once

#include <vector>

#include "parser/foreign/names/known_names.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Gives events of other programs' traces the kinds and numbers in their names, categories and
/// arguments.
class ForeignNames {
 public:
  /// The category of an event is its argument of this name.
  static constexpr std::string_view kCategory = "category";

  /// `given` (--kinds; may be null) and `timeline`, which holds the events, must outlive it.
  ForeignNames(const NameTable* given, Timeline& timeline)
      : timeline_(timeline), names_(given), category_(timeline.strings.intern(kCategory)) {}

  /// The category of an event; the empty text if it has none.
  StringId categoryOf(const Event& event) const;

  /// Gives the event the meaning of its name, else that of its category. The kinds of the user's
  /// files take precedence over everything, then a kind that the event has; but a kernel may turn
  /// out to be a collective.
  void describe(Event& event);

  /// Whether the user gave a file of kinds.
  bool isAsked() const { return names_.isAsked(); }

  /// The same with the kinds of the user's files only. False if they do not name the event.
  bool describeAsAsked(Event& event);

  /// Whether an event gave the position of its rank in the pipeline (`pp_rank`).
  bool hasPositions() const { return hasPositions_; }

  /// The meaning of a text of the timeline as a name.
  const JobName& known(StringId text);

  /// Sets the fields that `name` gives and the event lacks. Moves the event's fields out of
  /// arguments that have other names in other programs ("iteration", "pp_rank"). `pp_rank` becomes
  /// the stage.
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
