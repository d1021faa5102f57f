#pragma once

#include <array>
#include <string>
#include <vector>

#include "runtime/lanes/message_key.h"
#include "schedule/check/checked_plan.h"

namespace pipetrace {

/// All that one rank does in a step, with every lookup done: what the executor walks.
struct RankProgram {
  static constexpr int kNone = -1;

  /// One end of a lane: the messages of one direction to or from one other rank.
  struct Lane {
    bool sends = false;
    int peer = 0;
    Direction direction = Direction::kForward;
    std::size_t messages = 0;  ///< a step
    int back = kNone;          ///< the lane of its acknowledgements; kNone: it has none
  };

  /// A send or a receive.
  struct Transfer {
    int lane = 0;
    MessageKey key;  ///< its step is filled in when it runs
    int job = 0;     ///< that makes or needs the message
  };

  /// The place of a message at a job: in a transfer, in the hands of this rank (made and needed
  /// here), or nowhere.
  struct Place {
    int transfer = kNone;
    int kept = kNone;
  };

  /// A compute action. Its messages are those of the forward part ([0], activations) and of the
  /// backward part ([1], a gradient).
  struct Job {
    Action action;
    std::string text;  ///< toText(action)
    int chunk = 0;
    int backwardChunk = 0;  ///< of a fused pair
    std::array<Place, 2> inputs;
    std::array<Place, 2> outputs;
  };

  /// A change of a stage's weights without a flush.
  struct Update {
    int stage = 0;
    int chunk = 0;
  };

  struct Item {
    enum class Kind { kReceive, kSend, kJob, kUpdate };
    Kind kind = Kind::kJob;
    int index = 0;  ///< of the transfer, the job or the update
  };

  /// A stage of this rank with a copy on another one.
  struct Copy {
    int stage = 0;
    int send = 0;  ///< lanes
    int receive = 0;
  };

  std::vector<Item> items;  ///< in the plan's order
  std::vector<Lane> lanes;
  std::vector<Transfer> transfers;
  std::vector<Job> jobs;
  std::vector<Update> updates;
  std::vector<Copy> copies;
  int credits = 0;           ///< Plan::credits
  bool opensWithLr = true;   ///< forward-only plans do not
  int kept = 0;              ///< messages that stay on this rank
  bool updatesAtEnd = true;  ///< one optimizer step for all, after the last action
  bool postsAreOwn = false;  ///< the plan itself says when receives are posted
};

/// The program of `rank`. A plan without sends and receives gets those of addTransfers() with
/// `ahead`.
RankProgram rankProgram(const CheckedPlan& plan, int rank, int ahead);

/// The plan whose sends and receives ranks run: `plan` itself, if it has any, else addTransfers()
/// of it.
CheckedPlan fullPlan(const CheckedPlan& plan, int ahead);

}  // namespace pipetrace
