#include "runtime/session/program_words.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace pipetrace {

struct ProgramWords::State {
  std::mutex mutex;
  std::map<int, PlanWords> programs;

  /// A rank may be in a plan that this one has not begun: then there are no words.
  PlanWords of(int program) {
    const std::lock_guard lock(mutex);
    const auto found = programs.find(program);
    return found == programs.end() ? PlanWords() : found->second;
  }
};

ProgramWords::ProgramWords() : state_(std::make_shared<State>()) {}

void ProgramWords::add(int program, PlanWords words) {
  const std::lock_guard lock(state_->mutex);
  state_->programs.emplace(program, std::move(words));
}

PlanWords ProgramWords::words() const {
  PlanWords all;
  all.action = [state = state_](int rank, const ActionStatus& status) {
    const PlanWords words = state->of(status.program);
    if (words.action) return words.action(rank, status);
    return std::string("an action of a plan that this rank has not begun");
  };
  all.message = [state = state_](int rank, const ActionStatus& waiting) {
    const PlanWords words = state->of(waiting.program);
    return words.message ? words.message(rank, waiting) : std::string("a message");
  };
  all.isStillSent = [state = state_](int rank, const ActionStatus& waiting,
                                     const ActionStatus& sender) {
    const PlanWords words = state->of(waiting.program);
    return !words.isStillSent || words.isStillSent(rank, waiting, sender);
  };
  return all;
}

}  // namespace pipetrace
