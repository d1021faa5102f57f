#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "runtime/lanes/message_key.h"
#include "runtime/program/tensor_routes.h"
#include "schedule/check/checked_plan.h"

namespace pipetrace {

/// All that one rank does in a step, with every lookup done: what the executor walks.
struct RankProgram {
  static constexpr int kNone = -1;

  /// One end of a lane to or from one other rank.
  struct Lane {
    bool sends = false;
    int peer = 0;
    LaneName name = MessageKind::kActivations;
    std::size_t messages = 0;  ///< a step
    int back = kNone;          ///< the lane of its acknowledgements; kNone: it has none
  };

  /// A send or a receive.
  struct Transfer {
    int lane = 0;
    MessageKey key;  ///< its step is filled in when it runs
    int job = 0;     ///< that makes or needs the message
    int stage = 0;   ///< of that job's part
  };

  /// The place of a tensor at a job: in a transfer, in the hands of this rank (made and needed
  /// here), or nowhere.
  struct Place {
    int transfer = kNone;
    int kept = kNone;
  };

  /// The places of a forward's or a backward's tensors, as in JobMessages.
  struct Places {
    std::vector<Place> inputs;
    std::vector<Place> outputs;
  };

  /// A compute action. Places: of its forward part ([0]) and of its backward part ([1]).
  struct Job {
    Action action;
    std::string text;  ///< toText(action), with the numbers of its replica
    int chunk = 0;
    int backwardChunk = 0;  ///< of a fused pair
    int credit = kNone;     ///< the transfer that it acknowledges
    std::array<Places, 2> places;
  };

  /// A change of a stage's weights without a flush.
  struct Update {
    int stage = 0;
    int chunk = 0;
    int reduction = kNone;  ///< whose gradients it takes; kNone: the stage is on one rank
  };

  struct Item {
    enum class Kind { kReceive, kSend, kJob, kUpdate, kReduction };
    Kind kind = Kind::kJob;
    int index = 0;  ///< of the transfer, the job, the update or the reduction
  };

  /// A sum of gradients that goes to or comes from another rank.
  struct Sum {
    int lane = 0;
    MessageKey key;
  };
  /// A stage of this rank that others have, too. Gradients are added in the order of ranks.
  struct StageReplicas {
    struct Peer {
      int rank = 0;
      Sum send;
      Sum receive;
    };
    int stage = 0;
    std::vector<Peer> peers;  ///< the others, ascending
    std::string members;      ///< all of them: "0 4"
    int chunk = 0;
    std::vector<int> reductions{};  ///< their indices, at least one
    int buckets = 1;                ///< into which the stage's gradients are cut
    bool areOfParts = false;        ///< each is of the blocks of a part of the last backward
  };
  /// A place at which the gradients of such a stage may be added up. Training does so at the last
  /// one of each bucket; without a flush, at each update.
  struct Reduction {
    int stageReplicas = 0;  ///< its index
    int turn = 0;           ///< among those of the stage
    int bucket = 0;
    bool isTrained = true;  ///< training adds up there
  };
  /// A reduction has two rounds. First each rank sends every other one the part of the bucket that
  /// this one adds up, and then the sum of its own part.
  enum class Round { kParts, kSums };
  struct Exchange {
    int reduction = 0;
    Round round = Round::kParts;
  };
  /// How many rows another replica has (MessageKind::kReplicaRows).
  struct Rows {
    int replica = 0;
    Sum message;
  };
  /// How all ranks agree before the optimizer's step: each says its numbers to rank 0, and hears
  /// their sum.
  struct ScalarAllReduce {
    struct Ends {
      Sum send;
      Sum receive;
    };
    struct Other {
      std::vector<int> stages;
      Ends ends;
    };
    std::vector<int> stages;    ///< whose numbers this rank says: the first of their ranks
    std::optional<Ends> root;   ///< of all ranks but rank 0
    std::vector<Other> others;  ///< of rank 0: the others, ascending
    std::string members;        ///< all ranks: "0 1 2"
  };
  /// Where gradients do not bring the figures of the last stage's ranks together: in a plan without
  /// backward passes, and for metrics. All say theirs to the first of them, which has their mean.
  struct LossSum {
    struct Other {
      bool opensReplica = false;  ///< the first of its replica's ranks
      Sum message;
    };
    std::optional<Sum> to;    ///< of all others
    std::vector<Other> from;  ///< of the first: the others, ascending
  };
  /// The sum of one use of tied weights (TiedWeights::ties()).
  struct TiedSum {
    int tie = 0;
    int use = 0;
    Sum sum;
  };

  std::vector<Item> items;  ///< in the plan's order
  std::vector<Lane> lanes;
  std::vector<Transfer> transfers;
  std::vector<Job> jobs;
  std::vector<Update> updates;
  std::vector<StageReplicas> stageReplicas;
  std::vector<Reduction> reductions;
  std::vector<Exchange> exchanges;  ///< in an order that all ranks have
  int replica = 0;                  ///< of this rank
  int firstMicroBatch = 0;          ///< of that replica: logs count from there
  std::optional<Sum> rowsTo;        ///< says its rows, at the start of a step
  std::vector<Rows> rowsFrom;       ///< compares them with its own
  std::optional<ScalarAllReduce> scalarAllReduce;
  std::optional<LossSum> lossSum;
  std::vector<TiedSum> tiedSends;
  std::vector<TiedSum> tiedReceives;
  int credits = 0;           ///< Plan::credits
  bool opensWithLr = true;   ///< forward-only plans do not
  int kept = 0;              ///< messages that stay on this rank
  bool updatesAtEnd = true;  ///< one optimizer step for all, after the last action
  bool postsAreOwn = false;  ///< the plan itself says when receives are posted
};

/// The work adds this to a plan.
struct WorkFlow {
  TensorRoutes routes;                 ///< StageWork::routes(); empty: chainRoutes()
  std::vector<std::vector<int>> ties;  ///< TiedWeights::ties()
  bool agrees = false;                 ///< ScalarTerms::agrees()
  bool hasMetrics = false;             ///< StepFigures::hasMetrics()
};

/// The program of `rank`. A plan without sends and receives gets those of addTransfers() with
/// `ahead`. Tensors beside the plan's own are sent after the job that makes them, and their
/// receives are posted a job before the one that needs them. Throws Error for routes that lead out
/// of the pipeline or backwards.
RankProgram rankProgram(const CheckedPlan& plan, int rank, int ahead, const WorkFlow& flow = {});

/// The plan that ranks run (asRanksRun()). One without sends and receives gets those of
/// addTransfers().
CheckedPlan fullPlan(const CheckedPlan& plan, int ahead);

}  // namespace pipetrace
