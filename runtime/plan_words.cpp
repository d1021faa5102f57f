#include "runtime/plan_words.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/rank_program.h"

namespace pipetrace {

namespace {

constexpr unsigned kItemBits = 24;
constexpr unsigned kIndexBits = 22;
constexpr unsigned kKindBits = 2;
constexpr std::uint64_t kStepMask = (std::uint64_t{1} << 24U) - 1;

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

struct AwaitedPlace {
  std::uint64_t step = 0;  // its last 24 bits
  Awaited kind = Awaited::kMessage;
  std::size_t index = 0;
};

AwaitedPlace placeOf(const AwaitedMessage& awaited) {
  constexpr std::uint64_t kIndexMask = (std::uint64_t{1} << kIndexBits) - 1;
  constexpr std::uint64_t kKindMask = (std::uint64_t{1} << kKindBits) - 1;
  return {.step = awaited.number >> (kIndexBits + kKindBits),
          .kind = static_cast<Awaited>(awaited.number >> kIndexBits & kKindMask),
          .index = awaited.number & kIndexMask};
}

/// Steps from `from` to `to`, of which the last 24 bits are known.
std::int64_t stepsBetween(int from, std::uint64_t to) {
  constexpr std::int64_t kHalf = std::int64_t{1} << 23U;
  const auto distance =
      static_cast<std::int64_t>((to - static_cast<std::uint64_t>(from)) & kStepMask);
  return distance < kHalf ? distance : distance - 2 * kHalf;
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

std::string textOfAwaited(const RankProgram& program, const AwaitedPlace& awaited, int step) {
  if (awaited.kind == Awaited::kCredit) return "an acknowledgement of activations";
  if (awaited.kind == Awaited::kReceipt) return "the receipt of its messages";
  if (awaited.kind == Awaited::kSums) return "the gradients of the same weights";
  if (awaited.index >= program.transfers.size()) return "a message";
  MessageKey key = program.transfers[awaited.index].key;
  key.step = step;
  return toText(key);
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

bool isStillSent(Programs& programs, int rank, const AwaitedMessage& awaited,
                 const ActionStatus& sender) {
  const AwaitedPlace place = placeOf(awaited);
  const bool canTell = place.kind == Awaited::kMessage || place.kind == Awaited::kSums;
  if (!canTell || sender.action < 0) return true;
  const Place at = placeOf(sender.action);
  const std::int64_t steps = stepsBetween(at.step, place.step);
  if (steps != 0) return steps > 0;
  const RankProgram& program = programs.of(awaited.peer);
  if (place.kind == Awaited::kSums) return at.item <= program.items.size();
  const RankProgram& own = programs.of(rank);
  if (place.index >= own.transfers.size()) return true;
  return itemThatSends(program, own.transfers[place.index].key) > at.item;
}

}  // namespace

std::int64_t numberOfItem(int step, std::size_t item) {
  return numberOfData(step) + 1 + static_cast<std::int64_t>(item);
}

std::int64_t numberOfData(int step) { return std::int64_t{step} << kItemBits; }

std::uint64_t numberOfAwaited(int step, Awaited kind, int index) {
  const auto place = static_cast<std::uint64_t>(kind) << kIndexBits |
                     static_cast<std::uint64_t>(index) % (std::uint64_t{1} << kIndexBits);
  return (static_cast<std::uint64_t>(step) & kStepMask) << (kIndexBits + kKindBits) | place;
}

PlanWords wordsOf(const CheckedPlan& plan, int ahead, const WorkFlow& flow) {
  const auto programs = std::make_shared<Programs>(plan, ahead, flow);
  PlanWords words;
  words.action = [programs](int rank, std::int64_t action) {
    const Place place = placeOf(action);
    return textOfItem(programs->of(rank), place) + " of step " + std::to_string(place.step);
  };
  words.message = [programs](int rank, const AwaitedMessage& awaited) {
    const AwaitedPlace place = placeOf(awaited);
    return textOfAwaited(programs->of(rank), place, static_cast<int>(place.step));
  };
  words.isStillSent = [programs](int rank, const AwaitedMessage& awaited,
                                 const ActionStatus& sender) {
    return isStillSent(*programs, rank, awaited, sender);
  };
  return words;
}

}  // namespace pipetrace
