#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// Why a device was idle. kNone for events that are no bubble. The schedule's own classes come
/// first, then the causes of all other idle time.
enum class BubbleClass : std::uint8_t {
  kNone,
  kWarmUp,
  kSteady,
  kDrain,
  kSync,
  kLateStart,
  kTransfer,
  kBlocked,  ///< a message whose data was there could not begin: its line was taken
  kPeerWait,
  kImbalance,
  kUnknown,
};

inline constexpr int kBubbleClassCount = static_cast<int>(BubbleClass::kUnknown) + 1;
inline constexpr BubbleClass kFirstCause = BubbleClass::kSync;

/// Whom reports and comparisons blame for idle time of a class.
enum class BubbleBlame : std::uint8_t {
  kNobody,  ///< all idle time of the class is one finding
  kRank,
  kStage,
  kLink,
};

/// The means of the colours of a class, 0xRRGGBB, in the themes of chart/colors/theme.h.
struct BubbleTints {
  struct Forms {
    std::uint32_t light = 0;
    std::uint32_t dark = 0;
  };
  Forms paper;
  Forms paddle;
  Forms colourBlind;
};

inline constexpr int kUsualStroke = 44;
inline constexpr int kBoldStroke = 90;

/// The lines of a class's hatching, which tell it from others where colours do not. What they look
/// like: chart/colors/hatch_pattern.h.
enum class BubblePattern : std::uint8_t {
  kRising,
  kFalling,
  kUpright,
  kLevel,
  kGrid,
  kCross,
  kRisingDashes,
  kFallingDashes,
  kLevelDashes,
  kDots,
};

inline constexpr int kBubblePatternCount = static_cast<int>(BubblePattern::kDots) + 1;

/// All that must be known of a class but how it is found (analysis/run/bubbles/). Sentences have no
/// full stop.
struct BubbleClassRow {
  BubbleClass of;
  std::string_view name = {};        ///< in profiles, reports and queries: "peer_wait"
  std::string_view formerName = {};  ///< in profiles of earlier versions; "": it was the same
  const char* meaning = "";          ///< "a stage is slower than the others"
  BubbleBlame blame = BubbleBlame::kNobody;
  /// False: a report of a run that has none of it is as if there were no such class.
  bool isAlwaysReported = true;
  char mark = 0;                   ///< in charts made of characters
  std::string_view catapult = {};  ///< the reserved name of its colour in Chrome's viewer
  BubbleTints tints = {};
  /// No other class has it. The schedule's own classes have the calmest ones. Bubbles without a
  /// class look like those whose cause is unknown.
  BubblePattern pattern = BubblePattern::kRising;
  int stroke = kUsualStroke;  ///< of its hatching: of 256, from the tint to black or white
  /// The finding about it starts so where nobody is to blame: "of the idle time … take".
  const char* finding = "";
  const char* advice = "";  ///< what to do next, where a finding knows no better
  /// A comparison says this of more and of less of a cause. "@" stands for " of rank 2" where one
  /// rank is to blame.
  const char* longer = "";
  const char* shorter = "";
};

inline constexpr const char* kSchedulesOwn = "of the idle time the schedule itself leaves";
inline constexpr const char* kOtherSchedule =
    "another schedule or more micro-batches leave less: pipe-trace advise says what each would "
    "bring";

/// In the order of BubbleClass, which is that of legends.
inline constexpr std::array<BubbleClassRow, kBubbleClassCount> kBubbleClasses = {{
    {.of = BubbleClass::kNone,
     .mark = '-',
     .catapult = "heap_dump_stack_frame",  // dark grey
     .tints = {.paper = {0x8196a1, 0x878e8b},
               .paddle = {0xb1c8de, 0x56727f},
               .colourBlind = {0xc9bdc2, 0x77767c}},
     .pattern = BubblePattern::kRising,
     .stroke = kBoldStroke},
    {.of = BubbleClass::kWarmUp,
     .name = "warm_up",
     .meaning = "the schedule's own, before the first backward",
     .mark = '-',
     .catapult = "thread_state_sleeping",  // nearly white
     .tints = {.paper = {0xd8e5f4, 0x2b3d4e},
               .paddle = {0xd5f1fd, 0x293a47},
               .colourBlind = {0xe1edfc, 0x373c48}},
     .pattern = BubblePattern::kRisingDashes,
     .finding = kSchedulesOwn,
     .advice = kOtherSchedule},
    {.of = BubbleClass::kSteady,
     .name = "steady",
     .meaning = "the schedule's own, in between",
     .mark = '-',
     .catapult = "grey",  // light grey
     .tints = {.paper = {0xbdb1ab, 0x3d3e3a},
               .paddle = {0xc9cac7, 0x4c5659},
               .colourBlind = {0xa69c92, 0x575756}},
     .pattern = BubblePattern::kDots,
     .finding = kSchedulesOwn,
     .advice = kOtherSchedule},
    {.of = BubbleClass::kDrain,
     .name = "drain",
     .meaning = "the schedule's own, after the last forward",
     .mark = '-',
     .catapult = "cq_build_abandoned",  // middle grey
     .tints = {.paper = {0xd6d5bc, 0x5c503d},
               .paddle = {0xfff3dc, 0x4a4031},
               .colourBlind = {0xf6efd8, 0x3a3222}},
     .pattern = BubblePattern::kFallingDashes,
     .finding = kSchedulesOwn,
     .advice = kOtherSchedule},
    {.of = BubbleClass::kSync,
     .name = "sync",
     .meaning = "lr, optimizer, collectives",
     .mark = '_',
     .catapult = "thread_state_uninterruptible",  // mauve
     .tints = {.paper = {0xb6abef, 0x505199},
               .paddle = {0xdab4fa, 0x6a5394},
               .colourBlind = {0x7991e9, 0x40468a}},
     .pattern = BubblePattern::kUpright,
     .finding = "of the idle time optimizers and collectives take",
     .advice = "see whether gradients can be reduced while backward passes run, and weights be "
               "updated by several ranks",
     .longer = "updates of weights and collectives take longer",
     .shorter = "updates of weights and collectives take less time"},
    {.of = BubbleClass::kLateStart,
     .name = "late_start",
     .formerName = "launch",
     .meaning = "a job or message began later than its inputs were there",
     .blame = BubbleBlame::kRank,
     .mark = '!',
     .catapult = "cq_build_attempt_runnig",  // yellow; Catapult's spelling
     .tints = {.paper = {0xf6ec94, 0x8b851c},
               .paddle = {0xddf4a2, 0x8e852e},
               .colourBlind = {0xcbe07e, 0x948630}},
     .pattern = BubblePattern::kLevel,
     .advice = "see what the host does before it launches: calls that wait for the device, Python "
               "between jobs, a busy processor",
     .longer = "more time passes before jobs@ begin whose inputs are there",
     .shorter = "less time passes before jobs@ begin whose inputs are there"},
    {.of = BubbleClass::kTransfer,
     .name = "transfer",
     .meaning = "a message was on its way",
     .blame = BubbleBlame::kLink,
     .mark = '~',
     .catapult = "detailed_memory_dump",  // purple
     .tints = {.paper = {0xb4597e, 0x883075},
               .paddle = {0xaa5ea2, 0x7b2c6e},
               .colourBlind = {0xa75e99, 0x913775}},
     .pattern = BubblePattern::kFalling,
     .advice = "see whether messages can be smaller, the network faster, or a schedule that sends "
               "less often",
     .longer = "waits for messages are longer",
     .shorter = "waits for messages are shorter"},
    {.of = BubbleClass::kBlocked,
     .name = "blocked",
     .meaning = "a message waited behind others",
     .blame = BubbleBlame::kRank,
     .isAlwaysReported = false,
     .mark = '%',
     .catapult = "bad",  // ochre
     .tints = {.paper = {0x543cc8, 0x7030c4},
               .paddle = {0x543cc8, 0x543cc8},
               .colourBlind = {0x543cc8, 0x7030c4}},
     .pattern = BubblePattern::kGrid,
     .advice = "give messages the order of their times: pipe-trace plan --transfers in-time writes "
               "such a plan",
     .longer = "waits of messages for their line are longer",
     .shorter = "waits of messages for their line are shorter"},
    {.of = BubbleClass::kPeerWait,
     .name = "peer_wait",
     .meaning = "a job took longer than its like",
     .blame = BubbleBlame::kRank,
     .mark = '*',
     .catapult = "cq_build_failed",  // pale red
     .tints = {.paper = {0xcc9684, 0x8e5767},
               .paddle = {0xd59475, 0xa46056},
               .colourBlind = {0xedaf9c, 0x9d5f51}},
     .pattern = BubblePattern::kLevelDashes,
     .advice = "see why jobs vary: other processes on the hosts, inputs of different lengths, "
               "clocks of GPUs that change",
     .longer = "waits for unusually long jobs@ are longer",
     .shorter = "waits for unusually long jobs@ are shorter"},
    {.of = BubbleClass::kImbalance,
     .name = "imbalance",
     .meaning = "a stage is slower than the others",
     .blame = BubbleBlame::kStage,
     .mark = '#',
     .catapult = "terrible",  // red
     .tints = {.paper = {0xd2454b, 0xb4352a},
               .paddle = {0xd74c4e, 0xb02927},
               .colourBlind = {0xe54853, 0xb7202b}},
     .pattern = BubblePattern::kCross,
     .advice = "give slower stages fewer layers",
     .longer = "waits for slower stages are longer",
     .shorter = "waits for slower stages are shorter"},
    {.of = BubbleClass::kUnknown,
     .name = "unknown",
     .meaning = "no cause was found",
     .mark = '.',
     .catapult = "heap_dump_stack_frame",  // dark grey
     .tints = {.paper = {0x8196a1, 0x878e8b},
               .paddle = {0xb1c8de, 0x56727f},
               .colourBlind = {0xc9bdc2, 0x77767c}},
     .pattern = BubblePattern::kRising,
     .stroke = kBoldStroke,
     .finding = "of the idle time no cause is known for",
     .advice = "give the logs of all ranks together",
     .longer = "idle stretches of unknown cause are longer",
     .shorter = "idle stretches of unknown cause are shorter"},
}};

constexpr const BubbleClassRow& rowOf(BubbleClass bubbleClass) {
  return kBubbleClasses[static_cast<std::size_t>(bubbleClass)];
}

/// The classes in the order in which reports show them: the schedule's own, faults, the rest.
inline constexpr std::array kReportedClasses = {
    BubbleClass::kWarmUp,    BubbleClass::kSteady,   BubbleClass::kDrain,   BubbleClass::kPeerWait,
    BubbleClass::kImbalance, BubbleClass::kTransfer, BubbleClass::kBlocked, BubbleClass::kLateStart,
    BubbleClass::kSync,      BubbleClass::kUnknown};

/// The causes in the order in which they are drawn where one stretch of idle time has several.
inline constexpr std::array kCauses = {
    BubbleClass::kTransfer,  BubbleClass::kBlocked, BubbleClass::kLateStart, BubbleClass::kPeerWait,
    BubbleClass::kImbalance, BubbleClass::kSync,    BubbleClass::kUnknown};

/// The place of a cause in tables of causes.
constexpr std::size_t causeIndex(BubbleClass cause) {
  return static_cast<std::size_t>(cause) - static_cast<std::size_t>(kFirstCause);
}

/// Whether the schedule itself has such bubbles, so that no job is to blame for them.
constexpr bool isOfSchedule(BubbleClass bubbleClass) {
  return bubbleClass != BubbleClass::kNone && bubbleClass < kFirstCause;
}

/// Idle time by class, in nanoseconds. Index: BubbleClass.
using ClassTimes = std::array<Nanoseconds, kBubbleClassCount>;

/// Whether reports have that time of the class.
constexpr bool isReported(BubbleClass bubbleClass, Nanoseconds time) {
  return rowOf(bubbleClass).isAlwaysReported || time > 0;
}

/// The name that profiles have: "warm_up", "steady", …; "" for kNone.
constexpr std::string_view bubbleClassName(BubbleClass bubbleClass) {
  return rowOf(bubbleClass).name;
}

/// The class that a profile of this or of an earlier version names so; kNone for "".
std::optional<BubbleClass> bubbleClassFromName(std::string_view name);

}  // namespace pipetrace
