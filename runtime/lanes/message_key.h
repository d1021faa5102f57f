#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pipetrace {

/// Says what a message is. Each kind has a row in kMessageKinds.
enum class MessageKind : std::uint8_t {
  kActivations,     ///< of a micro-batch: from a stage to a later one
  kGradients,       ///< of a micro-batch: back to the earlier stage
  kStageGradients,  ///< parts of a stage's gradients, and their sums: among ranks with a copy of it
  kTiedGradients,   ///< of one use of tied weights: to the ranks that have another use only
  kAcknowledgement,  ///< of activations: back to their sender, where the plan has credits
  kRows,             ///< of a step's batch: from the rank of the last stage to its replica's others
  kReplicaRows,      ///< of a step's batch: from the last rank of a replica to that of the first
  kScalarAllReduce,  ///< before the optimizer's step: from all ranks to rank 0, and back
  kLosses,           ///< of a step: from the last stage's other ranks to the first of them
  kBetweenSteps,     ///< what ranks tell each other between steps, in no plan
};

/// Says what must be known of a kind of messages.
struct MessageKindRow {
  enum class Of { kMicroBatch, kStage, kStep, kRun };

  MessageKind kind;
  std::string_view text;  ///< to people, with what it is of: toText()
  Of of;
  bool isOrdered;  ///< the plan says in which order they are sent, and that they are received
  bool isOfHost;   ///< numbers of the host's, also where ranks compute on devices
  /// Two numbers by which its tags (GlooTags) differ from those of other kinds: the first has 2
  /// bits, and MessageKey::tensor is added to the second.
  int tagGroup;
  int tagNumber;
};

inline constexpr std::array kMessageKinds = [] {
  using enum MessageKind;
  using enum MessageKindRow::Of;
  return std::array<MessageKindRow, 10>{{
      // kind, text, of, isOrdered, isOfHost, tagGroup, tagNumber
      {kActivations, "the activations", kMicroBatch, true, false, 0, 0},
      {kGradients, "the gradients", kMicroBatch, true, false, 1, 0},
      {kStageGradients, "another copy's gradients", kStage, true, false, 2, 0},
      {kTiedGradients, "another copy's gradients", kStage, false, false, 2, 1},
      {kAcknowledgement, "an acknowledgement", kRun, true, false, 3, 0},
      {kRows, "the number of rows in step", kStep, false, true, 3, 1},
      {kReplicaRows, "the number of rows in step", kStep, false, true, 3, 2},
      {kScalarAllReduce, "what all ranks agree on in step", kStep, false, true, 3, 3},
      {kLosses, "the losses of step", kStep, false, true, 3, 4},
      {kBetweenSteps, "what ranks tell each other between steps", kRun, false, true, 3, 5},
  }};
}();

/// Every kind has its row, in the order of the kinds.
static_assert([] {
  for (std::size_t i = 0; i < kMessageKinds.size(); ++i) {
    if (kMessageKinds[i].kind != static_cast<MessageKind>(i)) return false;
  }
  return kMessageKinds.back().kind == MessageKind::kBetweenSteps;
}());

constexpr const MessageKindRow& rowOf(MessageKind kind) {
  return kMessageKinds[static_cast<std::size_t>(kind)];
}

/// Names a lane between two ranks: one for each kind of messages, and more for tensors beside those
/// that the plan itself sends. Plans that ranks run in turn have lanes of their own.
struct LaneName {
  MessageKind kind = MessageKind::kActivations;
  int tensor = 0;   ///< 0: the plan's own; else its number among the others. Of tied weights theirs
  int program = 0;  ///< the number of the plan among those that the ranks run in turn

  // NOLINTNEXTLINE(google-explicit-constructor): the plan's own lanes are named by their kind
  constexpr LaneName(MessageKind itsKind, int itsTensor = 0, int itsProgram = 0)
      : kind(itsKind), tensor(itsTensor), program(itsProgram) {}
  constexpr auto operator<=>(const LaneName&) const = default;

  /// Whether the plan orders its messages.
  constexpr bool isOrdered() const { return rowOf(kind).isOrdered && tensor == 0; }
  constexpr bool isOfHost() const { return rowOf(kind).isOfHost; }
};

/// Names a message: there is exactly one per (step, stage, micro-batch, kind, tensor).
struct MessageKey {
  int step = 0;
  int stage = 0;  ///< virtual stage that the message is for
  /// Gradients of a stage have the round of a reduction here, and those of tied weights the use.
  /// Kinds that are of a step or of the run have neither stage nor micro-batch.
  int microBatch = 0;
  MessageKind kind = MessageKind::kActivations;
  int tensor = 0;  ///< LaneName::tensor

  auto operator<=>(const MessageKey&) const = default;
};

/// "the activations of micro-batch 3 for stage 1 in step 7", for messages to people.
inline std::string toText(const MessageKey& key) {
  using Of = MessageKindRow::Of;
  const MessageKindRow& row = rowOf(key.kind);
  std::string text(row.text);
  if (row.of == Of::kMicroBatch) {
    if (key.tensor != 0) text = "tensor " + std::to_string(key.tensor) + " of " + text;
    text += " of micro-batch " + std::to_string(key.microBatch) + " for stage " +
            std::to_string(key.stage) + " in step";
  }
  if (row.of == Of::kStage) text += " of stage " + std::to_string(key.stage) + " in step";
  return row.of == Of::kRun ? text : text + " " + std::to_string(key.step);
}

}  // namespace pipetrace
