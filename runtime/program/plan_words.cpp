#include "runtime/program/plan_words.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/program/rank_program.h"

namespace pipetrace {

namespace {

// Steps and indexes are ints: 31 bits hold each of them. ActionProgress has room for a step and an
// item, and for a kind and an index.
constexpr unsigned kItemBits = 31;
constexpr unsigned kIndexBits = 31;

// Data has 0 in the bits of the item, an item one more than its own number.
struct Place {
  int step = 0;
  std::size_t item = 0;  // of data, 0 as well
  bool isData = false;
};

Place placeOf(std::int64_t number) {
  constexpr std::int64_t kMask = (std::int64_t{1} << kItemBits) - 1;
  const auto place = static_cast<std::size_t>(number & kMask);
  return {.step = static_cast<int>(number >> kItemBits),
          .item = place == 0 ? 0 : place - 1,
          .isData = place == 0};
}

// A rank waits for it in an item, and it belongs to the same step.
struct AwaitedPlace {
  int step = 0;
  Awaited kind = Awaited::kMessage;
  std::size_t index = 0;
};

AwaitedPlace awaitedPlaceOf(const ActionStatus& waiting) {
  constexpr std::uint64_t kIndexMask = (std::uint64_t{1} << kIndexBits) - 1;
  return {.step = placeOf(waiting.action).step,
          .kind = static_cast<Awaited>(waiting.awaited.number >> kIndexBits),
          .index = waiting.awaited.number & kIndexMask};
}

/// The programs of all ranks, each made when it is asked for.
class Programs {
 public:
  Programs(CheckedPlan plan, int ahead, WorkFlow flow)
      : plan_(std::move(plan)), ahead_(ahead), flow_(std::move(flow)) {}

  const RankProgram& of(int rank) {
    const std::lock_guard lock(mutex_);
    const auto found = programs_.find(rank);
    if (found != programs_.end()) return found->second;
    return programs_.emplace(rank, rankProgram(plan_, rank, ahead_, flow_)).first->second;
  }

 private:
  const CheckedPlan plan_;
  const int ahead_;
  const WorkFlow flow_;
  std::mutex mutex_;
  std::map<int, RankProgram> programs_;
};

std::string textOfItem(const RankProgram& program, const Place& place) {
  if (place.isData) return "data loading";
  const std::size_t item = place.item;
  if (item == 0) return "lr";
  if (item > program.items.size()) return "the optimizer";
  const RankProgram::Item& at = program.items[item - 1];
  if (at.kind != RankProgram::Item::Kind::kJob) return "an update";
  return program.jobs[static_cast<std::size_t>(at.index)].text;
}

std::string textOfAwaited(const RankProgram& program, const AwaitedPlace& awaited) {
  if (awaited.kind == Awaited::kCredit) return "an acknowledgement of activations";
  if (awaited.kind == Awaited::kReceipt) return "the receipt of its messages";
  if (awaited.kind == Awaited::kSums) {
    return "the sums of stage " + std::to_string(awaited.index) + "'s gradients";
  }
  if (awaited.kind == Awaited::kRows) return "the number of rows of its batch";
  if (awaited.kind == Awaited::kScalarAllReduce) return "the agreement of all ranks";
  if (awaited.kind == Awaited::kLosses) return "the losses of other ranks";
  if (awaited.kind == Awaited::kRanks) return "what is said between two steps";
  if (awaited.index >= program.transfers.size()) return "a message";
  MessageKey key = program.transfers[awaited.index].key;
  key.step = awaited.step;
  return (awaited.kind == Awaited::kTurn ? "what comes in line before " : "") + toText(key);
}

/// Where a rank sends that message.
std::size_t itemThatSends(const RankProgram& program, const MessageKey& key) {
  for (std::size_t i = 0; i < program.items.size(); ++i) {
    if (program.items[i].kind != RankProgram::Item::Kind::kSend) continue;
    if (program.transfers[static_cast<std::size_t>(program.items[i].index)].key == key) {
      return i + 1;
    }
  }
  return 0;
}

bool isStillSent(Programs& programs, int rank, const ActionStatus& waiting,
                 const ActionStatus& sender) {
  const AwaitedPlace place = awaitedPlaceOf(waiting);
  const bool isAtEnd = place.kind == Awaited::kSums || place.kind == Awaited::kScalarAllReduce ||
                       place.kind == Awaited::kLosses;
  const bool canTell = place.kind == Awaited::kMessage || isAtEnd;
  if (!canTell || waiting.action < 0 || sender.action < 0) return true;
  const Place at = placeOf(sender.action);
  if (at.step != place.step) return at.step < place.step;
  const RankProgram& program = programs.of(waiting.awaited.peer);
  if (isAtEnd) return at.item <= program.items.size();
  const RankProgram& own = programs.of(rank);
  if (place.index >= own.transfers.size()) return true;
  return itemThatSends(program, own.transfers[place.index].key) > at.item;
}

}  // namespace

std::int64_t numberOfItem(int step, std::size_t item) {
  return numberOfData(step) + 1 + static_cast<std::int64_t>(item);
}

std::int64_t numberOfData(int step) { return std::int64_t{step} << kItemBits; }

std::uint64_t numberOfAwaited(Awaited kind, int index) {
  return static_cast<std::uint64_t>(kind) << kIndexBits | static_cast<std::uint64_t>(index);
}

PlanWords wordsOf(const CheckedPlan& plan, int ahead, const WorkFlow& flow, Phase phase) {
  const auto programs = std::make_shared<Programs>(plan, ahead, flow);
  PlanWords words;
  const std::string ofPhase =
      phase == Phase::kTraining ? "" : " of the phase " + std::string(logName(phase));
  words.action = [programs, ofPhase](int rank, const ActionStatus& status) {
    const Place place = placeOf(status.action);
    return textOfItem(programs->of(rank), place) + " of step " + std::to_string(place.step) +
           ofPhase;
  };
  words.message = [programs](int rank, const ActionStatus& waiting) {
    return textOfAwaited(programs->of(rank), awaitedPlaceOf(waiting));
  };
  words.isStillSent = [programs](int rank, const ActionStatus& waiting,
                                 const ActionStatus& sender) {
    return isStillSent(*programs, rank, waiting, sender);
  };
  return words;
}

}  // namespace pipetrace
