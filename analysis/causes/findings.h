#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/causes/culprits.h"
#include "analysis/causes/device_state.h"
#include "analysis/causes/held_lines.h"
#include "analysis/causes/pauses.h"
#include "analysis/causes/peers.h"
#include "analysis/causes/slow_optimizers.h"
#include "analysis/causes/slow_reductions.h"
#include "analysis/causes/slower_than_others.h"
#include "analysis/causes/steps_that_lack_jobs.h"
#include "analysis/causes/unsteady_jobs.h"
#include "analysis/run/bubbles/bubbles.h"
#include "analysis/run/run.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Kinds of findings. Each has a row in findings.cpp, with what sets its findings apart, and
/// one in analysis/present/finding_sentences.cpp, with its words.
enum class FindingKind : std::uint8_t {
  kEarlyMessages,       ///< messages arrive before they are sent: clocks differ
  kSlowStages,          ///< all ranks of these stages take longer than other stages
  kSlowRank,            ///< a rank takes longer than its peers, or than at another time
  kSlowReplica,         ///< all ranks of a pipeline take longer than their peers in others
  kLongJob,             ///< a job takes longer than its median, in one step
  kOftenLongJob,        ///< a job does so in several steps
  kLongJobs,            ///< a few jobs take many times as long as theirs
  kUnevenMicroBatches,  ///< jobs take longer as their micro-batches are long
  kScatteredPauses,     ///< ranks pause now and then, at different steps
  kUnevenLoad,          ///< work inside jobs is not spread evenly over ranks that share it
  kSlowGroup,           ///< collectives of these ranks move slower than those of others
  kSlowReduction,       ///< so do sums of gradients behind their jobs
  kSlowOptimizer,       ///< the optimizer of a rank takes longer than those of others
  kUnevenMoving,        ///< stages differ by what collectives inside their jobs move, not by work
  kPeersVary,           ///< ranks that meet inside jobs vary, none is slow
  kUntracedPeers,       ///< jobs wait inside for ranks that have no trace
  kExposedCollectives,  ///< weights are gathered and scattered while nothing computes
  kContention,          ///< jobs compute longer while collectives run beside them
  kUnsteadyJobs,        ///< many jobs of these ranks take longer, now and then
  kData,                ///< ranks load data
  kLateJob,             ///< a job begins late, in one step or in each
  kLateJobs,            ///< many jobs of these ranks do
  kLateMessages,        ///< these ranks post messages late
  kSlowLink,            ///< its messages take longer than those of others
  kEarlyLink,           ///< ranks wait on a link whose messages arrive before they are sent
  kLongMessages,        ///< a few messages of a link take many times as long as its others
  kMessages,            ///< messages on links that are alike
  kUnloggedMessages,    ///< ranks wait for data; the run has no messages
  kHeldLines,           ///< messages in front hold lines before they can begin
  kUnknownSender,       ///< messages from a rank that nobody knows
  kOfClass,             ///< of a class of bubbles of which no more is known
  kPauses,              ///< the run stands still between steps
  kSchedule,            ///< the schedule's own idle time
  kOptimizers,          ///< the ends of steps
  kOptimizersAndCollectives,
  kUnknown,  ///< no cause is known
};
inline constexpr std::size_t kFindingKindCount =
    static_cast<std::size_t>(FindingKind::kUnknown) + 1;

/// The name of a kind for programs, such as "slow_rank". It stays as it is.
const char* findingKindName(FindingKind kind);

/// Ways to remove the cause of a finding, or things to look at next.
enum class Remedy : std::uint8_t {
  kMoveClocks,  ///< let clocks be moved before anything else is believed
  kMoveClocksOfLink,
  kComparePasses,          ///< stages as long as others, but not with each kind of job
  kMoreLayers,             ///< for stages that wait for the others
  kFewerLayers,            ///< for stages whose ranks are all slow
  kFewerLayersOrHost,      ///< for stages of one rank, which may be slow itself
  kFewerLayersForTheSlow,  ///< for some of the stages of ranks
  kHostOfRank,
  kHostsOfReplica,
  kThatMoment,  ///< what a rank did then
  kThatMicroBatch,
  kSteadierHosts,
  kEvenLoad,  ///< over ranks that share work
  kNetworkOfGroup,
  kSizesOfSums,
  kSteadierPeers,
  kGathersAhead,
  kFewerChannels,  ///< for collectives beside work
  kInsideTimes,    ///< look at what is inside jobs
  kEvenMicroBatches,
  kCollectTogether,  ///< garbage, on all ranks at the same step
  kDataAhead,
  kSoonerLaunches,
  kSoonerSteps,
  kSoonerMessages,
  kOrderOfMessages,
  kThatLink,
  kNetworkAtThatTime,
  kShorterMessages,  ///< on the only link
  kFewerMessages,    ///< on all links
  kMessagesInLogs,
  kPostingsInLogs,
  kAllLogs,
  kRecordMore,  ///< what ranks do between their jobs
  kNamedMessages,
  kWholeLogs,
  kStepsLeftOut,  ///< those that lack jobs
  kFewerCheckpoints,
  kFewerEvaluations,
  kProgramBetweenSteps,
  kAnotherSchedule,
  kFasterUpdates,
  kUpdatesAndReductions,
  kOfClass,  ///< what the row of the class says (trace/bubble_class.h)
};
inline constexpr std::size_t kRemedyCount = static_cast<std::size_t>(Remedy::kOfClass) + 1;

/// Facts of kEarlyMessages; culprit.rank and peer are the link with the earliest.
struct EarlyArrivals {
  Nanoseconds by = 0;         ///< in the median of that link
  std::size_t moreLinks = 0;  ///< that have some
};

/// Facts of kSlowStages.
struct StagesBesideOthers {
  std::set<int> ranks;                 ///< of all the stages
  SlowerStages::Factor all;            ///< of the stages together
  std::vector<std::int32_t> slowOnes;  ///< those that are slow by themselves
  SlowerStages::Factor ofSlowOnes;
  std::optional<SlowerRanks::Change> change{};  ///< of the only rank, beside its other steps
  bool areRanksAlike = true;                    ///< none of them is slower than its peers
  bool lackPeers = false;  ///< there is one rank, and those of other pipelines have no logs

  bool isFaster() const { return all.times < 0.995; }  ///< than what is printed as 1.00
  bool isSlower() const { return all.times >= 1.005; }
};

/// Facts of kSlowReplica.
struct SlowReplica {
  int replica = 0;
  std::vector<int> ranks;  ///< ascending
  double factor = 1;       ///< the median of theirs
};

/// Facts of kLongJob, kOftenLongJob, kLongJobs, kData and kLateJob: the longest of the jobs.
struct BlamedJob {
  std::string name;        ///< as plans name it, such as "2F5"
  int rank = -1;           ///< whose it is
  std::int32_t step = -1;  ///< kLateJob: of the one step that has it; -1: several do
  Nanoseconds length = 0;
  Nanoseconds usual = 0;    ///< the median
  int count = 1;            ///< how many are so long
  int all = 1;              ///< kOftenLongJob: of how many that are alike
  Nanoseconds perStep = 0;  ///< kData: what that rank's loader takes in the mean step
  /// kLateJob: it is the first of its pipeline's step, and other pipelines had begun theirs.
  bool opensStep = false;
};

/// Facts of kLateMessages: the message that costs most.
struct LateMessage {
  std::string name;        ///< of the end that was posted last, such as "0SEND_F5"
  int rank = -1;           ///< whose end that is
  std::int32_t step = -1;  ///< of the one step that has it; -1: several do
  Nanoseconds late = 0;    ///< since its data and its rank were there
  /// The message that the rank received in most of that time, where it ran on processors: its host
  /// waited for that first. Empty: none.
  std::string behind;
  bool isOnlyOne = false;  ///< four fifths of the time are of this message, over all steps
};

/// Facts of kLongMessages: the longest of them.
struct LongMessages {
  int from = -1;
  int to = -1;
  std::string job;  ///< the name of the job that sent it
  std::int32_t step = -1;
  Nanoseconds length = 0;
  Nanoseconds usual = 0;            ///< of the link
  int count = 1;                    ///< how many are so long
  std::vector<std::int32_t> steps;  ///< these are of, ascending
};

/// Facts of kSlowLink and kMessages.
struct LinkBesideOthers {
  Nanoseconds median = 0;                    ///< of kSlowLink
  std::optional<Nanoseconds> others{};       ///< kSlowLink: there are other links
  bool hasPostings = true;                   ///< of the links (LinkTimes::hasPostings())
  std::optional<LinkTimes::Link> slowWay{};  ///< kSlowLink: only messages from the one to the other
};

/// Facts of kUntracedPeers.
struct UntracedPeers {
  std::vector<int> ranks;  ///< of groups that meet inside jobs, ascending; empty: not known which
};

/// Facts of kUnknown.
struct UnknownIdle {
  bool lacksPlan = false;   ///< ranks have no logs, and the others do not show the schedule
  bool lacksRanks = false;  ///< ranks have no logs
  StepsThatLackJobs lacking{};
  bool areMessagesOfNobody =
      false;  ///< ranks waited for messages of which nobody knows whose they are
};

/// A bubble, a job or a message that shows what a finding is about.
struct Evidence {
  enum class Role : std::uint8_t { kBubble, kCulprit, kInPause, kAfterPause, kEarlyMessage };

  Role role = Role::kBubble;
  int rank = 0;
  Bubble bubble;                 ///< of the role kBubble
  const Event* event = nullptr;  ///< of the other roles; in the timeline that was explained
};

/// An observation about a run, as facts. analysis/present/ makes sentences, JSON and pages of them.
struct Finding {
  FindingKind kind = FindingKind::kSchedule;
  Remedy remedy = Remedy::kAnotherSchedule;
  Severity severity = Severity::kNote;
  BubbleClass bubbleClass = BubbleClass::kNone;  ///< kNone: of several classes, or of none
  std::vector<BubbleClass> classes;              ///< all that `time` is of
  /// Its cost, over all ranks and steps: idle time, or the time between steps of a pause.
  Nanoseconds time = 0;
  Nanoseconds idle = 0;  ///< the run's
  /// The part of `time` that is no idle time: jobs waited inside for other ranks, or collectives
  /// inside jobs moved.
  Nanoseconds inside = 0;
  double share = 0;         ///< of the run's idle time
  double shareOfSteps = 0;  ///< of the steps' wall time on all ranks
  /// Removing it makes steps shorter by less than kMinorShare, if those who did not cause it wait
  /// alike. A rank or a stage that takes 1.1 times as long as others, and 3 % of a step longer, is
  /// not minor, as other causes may hide what it costs.
  bool isMinor = false;
  bool onProcessors = false;  ///< its run is (runsOnProcessors())
  /// Of kLateJobs, kLateMessages and kUnsteadyJobs: many ranks have some of it, and none far more
  /// than others. Nobody is to blame. Ranks that do stand out have findings of their own.
  bool isOfMany = false;
  /// Those who caused it, of transfers the links, with what each costs; the most expensive first.
  std::vector<std::pair<int, Nanoseconds>> ranks;
  std::vector<std::pair<LinkTimes::Link, Nanoseconds>> links;
  std::optional<DeviceState> device;  ///< of kSlowRank and one rank, where it says a reason
  std::vector<std::int32_t> stages;   ///< of kSlowStages, ascending; empty: not known
  /// job == kNone: nobody's. It is the largest of several groups, with the time of all.
  CulpritGroup culprit;
  /// The evidence, the best first. Idle time has its longest bubbles, at most kMostExamples, then
  /// the job that is to blame. Pauses have the longest work in the longest of them, then the first
  /// job after it. Early messages have the earliest. Empty where there is none.
  std::vector<Evidence> evidence;
  /// Facts that only findings of its kind have.
  std::variant<std::monostate, EarlyArrivals, StagesBesideOthers, SlowerRanks::Rank, SlowReplica,
               BlamedJob, LateMessage, LongMessages, LinkBesideOthers, HeldLines,
               UnevenMicroBatches, ScatteredPauses, Pauses, UnknownIdle, Peers::Load,
               Peers::PossibleLoad, Peers::SlowSet, SlowReduction, SlowOptimizer, Peers::Exposed,
               Peers::Contention, UntracedPeers>
      facts;

  /// Those facts; null: they are of another kind.
  template <typename Facts>
  const Facts* factsOf() const {
    return std::get_if<Facts>(&facts);
  }
};

/// Which ranks, stages, links and steps a finding is about, ascending. An empty list: it is about
/// none of them in particular, or that is not known.
struct Whereabouts {
  std::vector<int> ranks;
  std::vector<std::int32_t> stages;
  std::vector<LinkTimes::Link> links;  ///< from and to, where it is about one direction
  std::vector<std::int32_t> steps;
};
Whereabouts whereaboutsOf(const Finding& finding);

/// A finding without which steps are shorter by less than that is listed with --all alone.
inline constexpr double kMinorShare = 0.01;

/// The inputs of findingsOf(). All must outlive the call.
struct FindingInputs {
  const Run& of;
  const std::string& logs;       ///< see ExplainOptions
  const MedianDurations& times;  ///< of the steps that count
  const SlowerStages& stages;
  const SlowerRanks& ranks;
  const LinkTimes& links;
  const UnevenMicroBatches& lengths;
  const ScatteredPauses& scattered;
  const Peers& peers;
  const CountedSteps& counted;
  const Culprits& culprits;
};

/// The findings about the idle time in the steps that count, and that between them. Clocks that
/// make the others doubtful come first. Findings with a culprit and pauses follow, the most
/// expensive first. The schedule's own share, other work, and what is not known come next, those
/// that are minor last.
///
/// Groups of culprits with one cause are one finding. These are the stages of the same ranks, the
/// ranks of a slow replica, and ranks that all begin their jobs late. So are links that are alike,
/// uneven micro-batches on all ranks, and pauses of all ranks.
std::vector<Finding> findingsOf(const FindingInputs& run);

/// Whether the logs say of all ranks that they ran on processors, or on devices that are emulated
/// there. They have no use for advice on GPUs and launches.
bool runsOnProcessors(const Timeline& timeline);

}  // namespace pipetrace
