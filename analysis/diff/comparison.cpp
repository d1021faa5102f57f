#include "analysis/diff/comparison.h"

#include <algorithm>
#include <utility>

#include "analysis/ratio.h"
#include "analysis/run/steps/counted_steps.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

using Places = Comparison::Places;

bool hasBackwards(const MeasuredRun& run) {
  return std::any_of(run.kinds.begin(), run.kinds.end(), [](JobKind kind) {
    return kind != JobKind::kForward && kind != JobKind::kRecompute;
  });
}

const char* phaseVerb(Phase phase) {
  switch (phase) {
    case Phase::kEvaluate: return "evaluate";
    case Phase::kPredict: return "predict";
    default: return "train";
  }
}

/// Notes of one run, which is called `name`.
class NotesOfRun {
 public:
  NotesOfRun(const MeasuredRun& run, std::string name, std::vector<std::string>& notes)
      : run_(run), name_(std::move(name)), notes_(notes) {}

  void add() {
    if (run_.isAsynchronous) {
      say(" has no flush between steps, so there is one window from the first backward of the "
          "first rank to its last forward; it is compared per micro-batch, in " +
          std::to_string(run_.steps.size()) + " stretches");
    }
    if (!run_.leftOut.empty()) say(": " + run_.leftOut);
    if (run_.incomplete > 0) say(": " + incompleteStepsText(run_.incomplete));
    if (run_.allAreIncomplete) say(": jobs are missing in every step");
    if (run_.shape.lacksRanks) {
      say(" has jobs that wait for ranks without a log; that idle time is unknown");
    }
    if (run_.shape.isInferred) say(": its logs do not say which ranks are a pipeline");
    if (run_.steps.size() == 1) {
      say(" has one step, so nobody knows how sure the difference is");
    }
  }

 private:
  void say(const std::string& what) { notes_.push_back(name_ + what); }

  const MeasuredRun& run_;
  std::string name_;
  std::vector<std::string>& notes_;
};

/// A note about what both runs have, or one of them.
void addOfEither(bool ofA, bool ofB, const std::string& what, std::vector<std::string>& notes) {
  if (ofA || ofB) {
    notes.push_back((ofA && ofB ? "both runs have " : ofA ? "A has " : "B has ") + what);
  }
}

void joinKinds(const MeasuredRun& a, const MeasuredRun& b, Comparison& how) {
  for (int kind = 0; kind < kJobKindCount; ++kind) {
    how.kindAs[static_cast<std::size_t>(kind)] = static_cast<JobKind>(kind);
  }
  const auto has = [](const MeasuredRun& run, JobKind kind) { return run.kinds.contains(kind); };
  const auto as = [&](JobKind kind, JobKind other) {
    how.kindAs[static_cast<std::size_t>(kind)] = other;
  };
  if (has(a, JobKind::kForwardBackward) != has(b, JobKind::kForwardBackward)) {
    for (const JobKind kind : {JobKind::kForward, JobKind::kBackward, JobKind::kBackwardInput,
                               JobKind::kBackwardWeight, JobKind::kForwardBackward}) {
      as(kind, JobKind::kOther);
    }
    addOfEither(has(a, JobKind::kForwardBackward), has(b, JobKind::kForwardBackward),
                "fused pairs, so forwards and backwards are compared together", how.notes);
    return;
  }
  const auto hasHalves = [&](const MeasuredRun& run) {
    return has(run, JobKind::kBackwardInput) || has(run, JobKind::kBackwardWeight);
  };
  if (hasHalves(a) == hasHalves(b)) return;
  as(JobKind::kBackwardInput, JobKind::kBackward);
  as(JobKind::kBackwardWeight, JobKind::kBackward);
  addOfEither(hasHalves(a), hasHalves(b), "backwards in halves, which are compared as whole ones",
              how.notes);
}

void comparePlaces(const MeasuredRun& a, const MeasuredRun& b, Comparison& how) {
  const ComparedShape& x = a.shape;
  const ComparedShape& y = b.shape;
  if (x.depth != y.depth || x.ranksOfStage != y.ranksOfStage) {
    how.places = Places::kNone;
    how.hasSameRanks = false;
    how.isPerMicroBatch = true;
    how.notes.push_back(
        x.depth != y.depth
            ? "a pipeline of A has " + countText(x.depth, "rank") + ", one of B " +
                  std::to_string(y.depth) +
                  ": compared per micro-batch, by kind of job; stages are not the same"
            : "A and B have other ranks on each stage: compared per micro-batch, by kind of job");
    return;
  }
  if (x.stages != y.stages) {
    how.places = Places::kPositions;
    how.notes.push_back("A has " + countText(x.chunks, "stage") + " on a rank, B " +
                        std::to_string(y.chunks) + ": compared by rank, not by stage");
  }
  const auto isAtOther = [&](const auto& each) {
    const auto other = y.places.find(each.first);
    return other == y.places.end() || other->second.replica != each.second.replica ||
           other->second.position != each.second.position;
  };
  how.hasSameRanks = x.places.size() == y.places.size() &&
                     std::none_of(x.places.begin(), x.places.end(), isAtOther);
  if (how.hasSameRanks) return;
  how.isPerMicroBatch = true;
  how.notes.push_back("A has " + countText(x.places.size(), "rank") + " in " +
                      countText(x.pipelines, "pipeline") + ", B " +
                      std::to_string(y.places.size()) + " in " + std::to_string(y.pipelines) +
                      ": compared per micro-batch of a pipeline; ranks and links are not matched");
}

/// How many tokens a micro-batch has; 0: not known. `tokensPerStep` is that of all replicas.
double tokensOf(const MeasuredRun& run) {
  return ratio(run.tokensPerStep.value_or(0),
               static_cast<double>(run.microBatches * run.shape.replicas()));
}

/// "twice the micro-batches", of B beside A; empty: not known.
std::string timesTheMicroBatches(const MeasuredRun& a, const MeasuredRun& b) {
  const std::int64_t ofA = a.microBatches * a.shape.replicas();
  const std::int64_t ofB = b.microBatches * b.shape.replicas();
  if (ofA == 0 || ofB == 0) return {};
  if (ofA == ofB) return "as many micro-batches";
  if (ofB == 2 * ofA) return "twice the micro-batches";
  if (ofA == 2 * ofB) return "half the micro-batches";
  return factorText(ratio(ofB, ofA)) + " times the micro-batches";
}

/// Steps of all replicas are of one batch, so runs with other numbers of them have other batches,
/// unless something says that these are the same.
void compareReplicas(const MeasuredRun& a, const MeasuredRun& b, Comparison& how) {
  if (a.shape.replicas() == b.shape.replicas()) return;
  const std::string times = timesTheMicroBatches(a, b);
  how.notes.push_back("B has " + countText(b.shape.replicas(), "replica") + ", A " +
                      std::to_string(a.shape.replicas()) +
                      (times.empty() ? "" : ": its steps have " + times));
}

void sayWhatStepsHave(const MeasuredRun& a, const MeasuredRun& b, Comparison& how) {
  if (how.hasSameTokens && a.tokensPerStep == b.tokensPerStep && a.tokensPerStep) {
    how.notes.push_back("steps of A and B have " + fixedText(*a.tokensPerStep, 0) + " tokens");
  } else if (!how.hasSameTokens && !(a.tokensPerStep && b.tokensPerStep)) {
    how.notes.emplace_back(
        "nobody knows whether steps of A and B have as many samples; --same-batch says so, and "
        "then whole steps are judged");
  }
  const double tokensOfA = tokensOf(a);
  const double tokensOfB = tokensOf(b);
  if (tokensOfA > 0 && tokensOfB > 0 && tokensOfA != tokensOfB) {
    how.notes.push_back("a micro-batch of A has " + fixedText(tokensOfA, 0) + " tokens, one of B " +
                        fixedText(tokensOfB, 0));
  }
}

void compareMicroBatches(const MeasuredRun& a, const MeasuredRun& b, Comparison& how) {
  if (a.isAsynchronous || b.isAsynchronous) {
    how.isPerMicroBatch = true;
    if (a.isAsynchronous != b.isAsynchronous) {
      how.notes.push_back("only steps of " + std::string(a.isAsynchronous ? "B" : "A") +
                          " fill and drain their pipeline");
    }
    return;
  }
  compareReplicas(a, b, how);
  const bool areAsMany = a.microBatches == b.microBatches && a.microBatches > 0;
  if (!areAsMany) {
    how.isPerMicroBatch = true;
    const auto count = [](const MeasuredRun& run) {
      return run.microBatches > 0 ? std::to_string(run.microBatches)
                                  : std::string("varying numbers of");
    };
    const bool haveSeveral = a.shape.replicas() != b.shape.replicas();
    how.notes.push_back((haveSeveral ? "a pipeline of A has " : "a step of A has ") + count(a) +
                        " micro-batches" + (haveSeveral ? " in a step" : "") + ", one of B " +
                        count(b) + ": compared per micro-batch");
  }
  if (!areAsMany || a.shape.replicas() != b.shape.replicas()) sayWhatStepsHave(a, b, how);
}

std::string refusalOfSteps(const MeasuredRun& a, const MeasuredRun& b, const Comparison& how) {
  for (const auto& [run, name] : {std::pair(&a, "A"), std::pair(&b, "B")}) {
    if (run->steps.empty()) return std::string(name) + " has no step that counts";
  }
  if (a.phase != b.phase) {
    return "the steps of A " + std::string(phaseVerb(a.phase)) + ", those of B " +
           phaseVerb(b.phase);
  }
  if (hasBackwards(a) != hasBackwards(b)) {
    return std::string(hasBackwards(a) ? "B" : "A") + " has forwards only";
  }
  if (!how.isPerMicroBatch) return {};
  for (const auto& [run, name] : {std::pair(&a, "A"), std::pair(&b, "B")}) {
    const bool isCounted = std::any_of(run->steps.begin(), run->steps.end(),
                                       [](const auto& step) { return step.microBatches > 0; });
    if (!isCounted) {
      return std::string("nobody knows how many micro-batches a step of ") + name + " has";
    }
  }
  return {};
}

}  // namespace

Comparison comparisonOf(const MeasuredRun& a, const MeasuredRun& b) {
  Comparison how;
  how.hasSameTokens = a.hasSameBatch || b.hasSameBatch ||
                      (a.tokensPerStep.has_value() && a.tokensPerStep == b.tokensPerStep);
  comparePlaces(a, b, how);
  compareMicroBatches(a, b, how);
  joinKinds(a, b, how);
  how.refusal = refusalOfSteps(a, b, how);
  if (a.schedule != b.schedule) {
    how.notes.push_back("the schedule of A is " + a.schedule + ", that of B " + b.schedule);
  } else if (a.schedule == "unknown order") {
    how.notes.emplace_back(
        "neither run follows a schedule that is known; the times are compared "
        "all the same");
  }
  const int tensorRanks = std::max(a.shape.tensorRanks, b.shape.tensorRanks);
  if (tensorRanks > 1) {
    how.notes.push_back(
        "ranks share the work of a stage (tensor parallel: " + std::to_string(a.shape.tensorRanks) +
        (a.shape.tensorRanks == b.shape.tensorRanks
             ? std::string(")")
             : " in A, " + std::to_string(b.shape.tensorRanks) + " in B)") +
        ": times are means over them");
  }
  addOfEither(!a.logsMessages, !b.logsMessages,
              "no messages in the logs: waits for them are inferred, and links are not compared",
              how.notes);
  addOfEither(a.meetsInside, b.meetsInside,
              "ranks that wait for each other inside jobs: jobs are compared with these waits, so "
              "all ranks of a stage look slow by one; pipe-trace report says which",
              how.notes);
  NotesOfRun(a, "A", how.notes).add();
  NotesOfRun(b, "B", how.notes).add();
  return how;
}

std::vector<int> ranksOfBoth(const ComparedShape& a, const ComparedShape& b) {
  const bool areAlike = a.depth == b.depth && a.chunks == b.chunks && a.worldSize == b.worldSize &&
                        a.worldSize > 0 && a.tensorRanks == b.tensorRanks &&
                        a.ranksOfStage == b.ranksOfStage;
  if (!areAlike) return {};
  std::vector<int> both;
  for (const auto& [rank, place] : a.places) {
    const auto other = b.places.find(rank);
    if (other == b.places.end()) continue;
    const bool isSame =
        place.replica == other->second.replica && place.position == other->second.position;
    if (!isSame) return {};
    both.push_back(rank);
  }
  const bool isAll = both.size() == a.places.size() && both.size() == b.places.size();
  return isAll ? std::vector<int>() : both;
}

}  // namespace pipetrace
