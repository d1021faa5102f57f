#pragma once

#include <memory>

#include "runtime/control/verdict/verdict.h"

namespace pipetrace {

/// The words of all plans that the ranks run in turn: those of the plan in whose action a rank is
/// (ActionStatus::program).
///
/// Threads: any.
class ProgramWords {
 public:
  ProgramWords();

  /// The words of plan `program`, once; those of the same number after that are not taken.
  void add(int program, PlanWords words);
  /// For ControlOptions. They may outlive this.
  PlanWords words() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace pipetrace
