#pragma once

#include <compare>
#include <string>

namespace pipetrace {

/// Activations go forward, gradients backward. Between ranks that have a copy of the same stage go
/// their sums of its gradients. Acknowledgements of activations go back to their sender.
enum class Direction { kForward, kBackward, kBetweenCopies, kAcknowledgement };

/// Names a lane between two ranks: one for each direction, and more for tensors beside those that
/// the plan itself sends. Plans that ranks run in turn have lanes of their own.
struct LaneName {
  Direction direction = Direction::kForward;
  int tensor = 0;   ///< 0: the plan's own; else its number among the others
  int program = 0;  ///< the number of the plan among those that the ranks run in turn

  // NOLINTNEXTLINE(google-explicit-constructor): the plan's own lanes are named by their direction
  constexpr LaneName(Direction itsDirection, int itsTensor = 0, int itsProgram = 0)
      : direction(itsDirection), tensor(itsTensor), program(itsProgram) {}
  constexpr auto operator<=>(const LaneName&) const = default;
};

/// The lane on which a rank says how many rows a step's batch has (Message::deadline).
inline constexpr LaneName kRowsLane(Direction::kAcknowledgement, 1);

/// The lane on which a replica says that to another one.
inline constexpr LaneName kReplicaRowsLane(Direction::kAcknowledgement, 2);

/// The lane on which all ranks agree on the step that the optimizer takes.
inline constexpr LaneName kAgreementLane(Direction::kAcknowledgement, 3);

/// The lane on which ranks of the last stage say their losses, where no gradients travel.
inline constexpr LaneName kLossLane(Direction::kAcknowledgement, 4);

/// Whether the messages of a lane are numbers of the host's, also where ranks compute on devices.
constexpr bool isOfHost(const LaneName& name) {
  return name.direction == Direction::kAcknowledgement && name.tensor != 0;
}

/// Names a message: there is exactly one per (step, stage, micro-batch, direction, tensor).
struct MessageKey {
  int step = 0;
  int stage = 0;  ///< virtual stage that the message is for
  /// Between copies the round of a reduction, or the use of tied weights. Acknowledgements have
  /// neither stage nor micro-batch.
  int microBatch = 0;
  Direction direction = Direction::kForward;
  int tensor = 0;  ///< LaneName::tensor

  auto operator<=>(const MessageKey&) const = default;
};

/// "the activations of micro-batch 3 for stage 1 in step 7", for messages to people.
std::string toText(const MessageKey& key);

}  // namespace pipetrace
