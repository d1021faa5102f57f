#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "schedule/check/problem.h"
#include "schedule/plan.h"
#include "schedule/planned_message.h"

namespace pipetrace {

/// How many stages and micro-batches a plan has.
struct StagesAndMicroBatches {
  int stages = 0;
  int microBatches = 0;
  bool operator==(const StagesAndMicroBatches&) const = default;
};

/// The size of a plan without numbers that are there by mistake. The size of a plan that was read
/// follows from its largest numbers. So one digit too many would make a plan that misses nearly all
/// of its work. The last stages and micro-batches are left out if they have less than half of their
/// work, or none of it, up to half of all. The plan keeps its own size where that leaves nothing.
/// It also does where it has no work of its last stage or micro-batch: then its author has set the
/// size.
StagesAndMicroBatches sizeWithoutStrays(const Plan& plan);

/// Finds in constant time where a plan does what.
class PlanIndex {
 public:
  struct Position {
    int rank = -1;
    int cell = -1;
    bool exists() const { return rank >= 0; }
    bool operator==(const Position&) const = default;
  };

  /// `plan` must outlive the index.
  explicit PlanIndex(const Plan& plan);

  /// Work and transfers that are out of range or there twice, and work that is missing, parts of a
  /// backward too. Never about data-parallel actions.
  const ProblemList& problems() const { return problems_; }

  /// The plan's size; for a plan that is not whole, without numbers that are there by mistake.
  const StagesAndMicroBatches& size() const { return size_; }
  bool inRange(int stage, int microBatch) const {
    return stage >= 0 && stage < size_.stages && microBatch >= 0 && microBatch < size_.microBatches;
  }

  /// Whether the plan has stages and ranks to speak of; if not, problems() says so and that is all.
  bool isUsable() const { return !table_.empty(); }

  const Action& at(Position position) const {
    return plan_
        .ranks[static_cast<std::size_t>(position.rank)][static_cast<std::size_t>(position.cell)];
  }

  /// The actions that make the input of an action, apart from the action before it on its rank: at
  /// most three, for a fused pair. A part of a backward has the part before it, and the first one
  /// the inputs of the whole. Inputs that the plan lacks are left out. Transfers have none here,
  /// and data-parallel actions none at all.
  struct Inputs {
    Position positions[3];
    int count = 0;
    void add(Position position) {
      if (position.exists()) positions[count++] = position;
    }
    const Position* begin() const { return positions; }
    const Position* end() const { return positions + count; }
  };
  Inputs inputsOf(const Action& action) const;

  /// Plan::isForwardOnly()
  bool isForwardOnly() const { return isForwardOnly_; }

  /// Whether the plan says when messages are sent and received (a full plan), or leaves that open.
  bool hasTransfers() const { return !transfers_.empty(); }

  /// The compute actions at both ends of a message, and the actions that move it. Where the plan
  /// lacks one, the Position does not exist. The last part of a backward makes the message, and the
  /// first one needs that of the stage behind.
  Position makerOf(const PlannedMessage& message) const;
  Position userOf(const PlannedMessage& message) const;
  Position sendAt(const PlannedMessage& message) const;
  Position receiveAt(const PlannedMessage& message) const;
  /// The backward pass, its input half or the fused pair that a recompute is for; of one in parts,
  /// the first.
  Position backwardOf(const Action& recompute) const;
  /// Whether both its stages are stages of the plan, on two different ranks.
  bool crossesRanks(const PlannedMessage& message) const;

 private:
  enum Pass { kForwardPass, kBackwardPass, kWeightPass, kRecomputePass, kPassCount };

  std::size_t cellOf(int stage, int microBatch) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(size_.microBatches) +
           static_cast<std::size_t>(microBatch);
  }
  std::size_t transferCell(const PlannedMessage& message, bool sends) const;
  Position find(Pass pass, int stage, int microBatch) const {
    if (table_.empty() || !inRange(stage, microBatch)) return {};
    return table_[cellOf(stage, microBatch) * kPassCount + pass];
  }
  /// The first part of a pass, or the whole.
  Position findFirst(Pass pass, int stage, int microBatch) const;
  Position findPart(const Action& action, int part) const;
  Position findTransfer(const PlannedMessage& message, bool sends) const;
  bool hasPlaces();
  bool isOfSaneSize() const;
  void refuseSize();
  void addAll();
  void addAction(const Action& action, Position position);
  void addWork(Pass pass, int stage, int microBatch, Position position);
  void addTransfer(const Action& action, Position position);
  void addRecompute(const Action& action, Position position);
  void addPart(const Action& action, Position position);
  void closeParts();
  void put(Position& slot, Position position);
  std::string whyOutOfRange(int stage, int microBatch) const;
  bool hasAny(int stage, int microBatch) const;
  void findMissing();
  std::vector<bool> findMissingStages();
  std::vector<bool> findMissingMicroBatches();
  void findMissing(int stage, int microBatch);

  const Plan& plan_;
  bool isForwardOnly_;
  std::vector<Position> table_;  // by stage, micro-batch and pass; of one in parts, the last
  using Parts = std::map<int, Position>;                 // by number
  std::map<std::pair<std::size_t, Pass>, Parts> parts_;  // by cellOf(); few have any
  std::vector<Position> transfers_;  // by making stage, micro-batch, direction, send or receive
  StagesAndMicroBatches size_;
  ProblemList problems_;
};

}  // namespace pipetrace
