#include "analysis/present/doubt_sentences.h"

#include <array>
#include <nlohmann/json.hpp>

#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

constexpr const char* kCheckJobs = "check what --kinds, --pattern or the log says of jobs";

std::string rankName(const Doubt& doubt, std::size_t i) {
  return "rank " + std::to_string(doubt.ranks[i]);
}

/// " of rank 0", " on the worst of ranks 0 to 3".
std::string onTheWorst(const Doubt& doubt, const char* one) {
  return doubt.ranks.size() == 1 ? one + ranksText(doubt.ranks)
                                 : " on the worst of " + ranksText(doubt.ranks);
}

std::string noTimeText(const Doubt& doubt) {
  return countText(doubt.count, "event") + " of " + ranksText(doubt.ranks) +
         (doubt.count == 1 ? " has no time: it is at 0, or before its launch, and was left out"
                           : " have no time: they are at 0, or before their launch, and were left "
                             "out");
}

std::string overrunsText(const Doubt& doubt) {
  return "work on a stream or a thread of " + ranksText(doubt.ranks) +
         " goes on while the next one runs, " + countText(doubt.count, "time") + " and " +
         formatDuration(doubt.time) +
         " in all: these do one thing at a time, so it was cut where the next one begins";
}

std::string coarseText(const Doubt& doubt) {
  if (doubt.time == 0) {
    return std::to_string(doubt.count) + " of " + countText(doubt.all, "job") +
           " have no length: their times were rounded, or are not theirs";
  }
  return "all times are multiples of " + formatDuration(doubt.time) + ", and a job takes " +
         formatDuration(doubt.beside) + ": lengths and idle time are as coarse as that";
}

std::string lastText(const Doubt& doubt) {
  return doubt.made + ", the last job of " + (doubt.ranks.size() > 1 ? "one of " : "") +
         ranksText(doubt.ranks) + ", takes " + formatDuration(doubt.time) +
         ", and the longest other one like it " + formatDuration(doubt.beside) +
         ": the recording may have ended in it";
}

std::string insideText(const Doubt& doubt) {
  return "step " + std::to_string(doubt.step) + " ends " + formatDuration(doubt.time) +
         " after all later steps have ended: jobs have the time or the step of others";
}

std::string missingText(const Doubt& doubt) {
  return countText(doubt.count, "job is", "jobs are") + " missing, first in step " +
         std::to_string(doubt.step) +
         ": its micro-batches do not go through all stages, and what is missing counts as idle "
         "time";
}

std::string lengthsText(const Doubt& doubt) {
  return "jobs of " + ranksText(doubt.ranks) + " take " + formatDuration(doubt.time) +
         (doubt.ranks.size() > 1 ? " on the one that is farthest off" : "") +
         ", and those of the median rank " + formatDuration(doubt.beside) +
         ": as if their times had another unit";
}

std::string twiceText(const Doubt& doubt) {
  return ranksText(doubt.ranks) + " of a pipeline run the same jobs, such as " + doubt.made +
         (doubt.step == kNotGiven ? "" : " of step " + std::to_string(doubt.step)) +
         ": they share a stage, or a file is there twice";
}

std::string nothingText(const Doubt& doubt) {
  return "for " + formatDuration(doubt.time) + " of step " + std::to_string(doubt.step) + " (" +
         percentText(doubt.time, doubt.beside) +
         " of it) no rank recorded anything: the program stood still, or times are wrong";
}

std::string clocksMovedText(const Doubt& doubt) {
  return "the clocks of " + ranksText(doubt.ranks) + " are apart by at least " +
         formatDuration(doubt.time) +
         ", as jobs begin before their data was made; times were moved by the order of jobs and "
         "messages, and are exact to within " +
         formatDuration(doubt.beside);
}

std::string clocksApartText(const Doubt& doubt) {
  std::string text = doubt.used + " of " + rankName(doubt, 1) + " begins " +
                     formatDuration(doubt.time) + " before " + doubt.made + " of " +
                     rankName(doubt, 0) + " has ended, which makes its data";
  if (doubt.step != kNotGiven) text += " (step " + std::to_string(doubt.step) + ")";
  text += ", as do " + std::to_string(doubt.count) + " of " + countText(doubt.all, "such job");
  if (doubt.morePairs > 0) {
    text +=
        ", and jobs of " + countText(doubt.morePairs, "more pair of ranks", "more pairs of ranks");
  }
  return text +
         ": their clocks are apart by at least that, so idle time between them has no known cause";
}

std::string overlapText(const Doubt& doubt) {
  std::string text = "compute jobs of " + ranksText(doubt.ranks) + " run at the same time, " +
                     percentText(doubt.time, doubt.beside) + " of their time" +
                     (doubt.ranks.size() > 1 ? " on the worst of them" : "");
  if (doubt.count > 0) {
    text += ", on " + std::to_string(doubt.count) +
            " lanes that have no overlap by themselves: these may be ranks or stages of their own";
  }
  return text + "; busy time counts them once";
}

std::string overlapAdvice(const Doubt& doubt) {
  return doubt.count > 0 ? "give each lane to a rank of its own, as with a process or a file for "
                           "each"
                         : kCheckJobs;
}

std::string tooEfficientText(const Doubt& doubt) {
  return "the jobs of a step, one after the other on each rank, take " + factorText(doubt.ratio) +
         " times as long as the step: jobs overlap, or have lengths that are not theirs";
}

std::string deviceText(const Doubt& doubt) {
  return "the device works " + formatDuration(doubt.time) + " in a run of " +
         formatDuration(doubt.beside) + onTheWorst(doubt, " on ");
}

std::string silentText(const Doubt& doubt) {
  return ranksText(doubt.ranks) + (doubt.ranks.size() == 1 ? " sends" : " send") + " and receive" +
         (doubt.ranks.size() == 1 ? "s" : "") +
         " nothing, while other ranks of the run do: what they wait for is not known";
}

std::string betweenText(const Doubt& doubt) {
  return countText(doubt.count, "message leads", "messages lead") +
         " from one pipeline to another, between " + ranksText(doubt.ranks) +
         ": the ranks are arranged in another way than the logs or the options say";
}

std::string contradictText(const Doubt& doubt) {
  std::string text = rankName(doubt, 0) + " sends " + countText(doubt.count, "message") + " to " +
                     rankName(doubt, 1) + ", which receives " + countText(doubt.all, "message") +
                     " and none from there";
  if (doubt.morePairs > 0) {
    text += ", and so it is with " +
            countText(doubt.morePairs, "more pair of ranks", "more pairs of ranks");
  }
  return text + ": files have the numbers of other ranks, or are of other runs";
}

/// "all 4 ranks follow 1F1B, 96 of 96 jobs": how well the found jobs fit.
std::string foundJobsText(const Doubt& doubt) {
  std::string text = "no annotation names the jobs of " + ranksText(doubt.ranks) + ": " +
                     countText(doubt.count, "job was", "jobs were") +
                     " found by operators, kernels and messages";
  if (doubt.isWithoutPipeline) {
    text += "; the micro-batches of one rank follow each other, without a pipeline";
  } else if (!doubt.schedule.empty()) {
    text +=
        "; " +
        (doubt.ranks.size() == 1 ? std::string("it follows ")
                                 : "all " + std::to_string(doubt.ranks.size()) + " ranks follow ") +
        doubt.schedule + ", " + std::to_string(doubt.fitting) + " of " +
        countText(doubt.all, "job");
  } else {
    text += "; they fit no known schedule";
  }
  if (doubt.byOrder > 0) {
    text +=
        "; the micro-batches of " + countText(doubt.byOrder, "job") + " are counted by their order";
  }
  if (!doubt.parted.empty()) {
    text += "; no message shows where the backwards of " + ranksText(doubt.parted) +
            " begin: they begin here where kernels have other names or lengths";
  }
  if (!doubt.unparted.empty()) {
    text += "; the forwards of " + ranksText(doubt.unparted) +
            " may have their backwards in them, as no message parts the two";
  }
  if (doubt.unplaced > 0) {
    text += "; " + countText(doubt.unplaced, "run of operators", "runs of operators") + " (" +
            formatDuration(doubt.time) + ") that may be a job " +
            (doubt.unplaced == 1 ? "was" : "each were") + " not placed";
  }
  return text;
}

std::string hiddenWaitsText(const Doubt& doubt) {
  if (doubt.time == 0) {
    return ranksText(doubt.ranks) +
           " share stages with peers, and nothing shows for how long they wait for each other "
           "inside their jobs: that counts as work, so a slow rank may look like a slow stage, or "
           "like its peers";
  }
  constexpr std::size_t kMost = 60;
  const std::string name =
      doubt.made.size() > kMost ? doubt.made.substr(0, kMost - 3) + "..." : doubt.made;
  return "kernels inside jobs of " + ranksText(doubt.ranks) +
         " exchange data with ranks that the "
         "trace does not name (" +
         name + "), " + percentText(doubt.time, doubt.beside) +
         " of the jobs' time at most: what they wait there counts as work, so a slow rank may look "
         "like a slow stage";
}

std::string saidText(const Doubt& doubt) { return doubt.said; }
std::string saidAdvice(const Doubt& doubt) { return doubt.advice; }

std::string none(const Doubt&) { return {}; }

struct DoubtSentence {
  DoubtKind kind;
  std::string (*text)(const Doubt&);
  const char* advice = nullptr;
  std::string (*adviceOf)(const Doubt&) = nullptr;
};

constexpr const char* kOneClock =
    "--align causal puts clocks right by the order of jobs and messages; or jobs count the receive "
    "of their data; --pp, --dp and --tp say how ranks are arranged";

constexpr std::array<DoubtSentence, kDoubtKindCount> kDoubtSentences = {{
    {DoubtKind::kNone, none, ""},
    {DoubtKind::kNoTime, noTimeText,
     "record again with a later profiler; jobs that had such work may be longer than they are "
     "here"},
    {DoubtKind::kOverruns, overrunsText,
     "record again with a later profiler, or with less in a trace"},
    {DoubtKind::kCoarseTimes, coarseText, "record again with times to the microsecond"},
    {DoubtKind::kLastJobLong, lastText, "--steps leaves the last step out"},
    {DoubtKind::kLengthsApart, lengthsText, "check the unit of these logs (--time-unit)"},
    {DoubtKind::kClocksApart, clocksApartText, kOneClock},
    {DoubtKind::kClocksMoved, clocksMovedText,
     "--align none leaves times as they were recorded; a clock that all ranks share is better"},
    {DoubtKind::kContradiction, saidText, nullptr, saidAdvice},
    {DoubtKind::kSeveralRuns, saidText, nullptr, saidAdvice},
    {DoubtKind::kOverlappingJobs, overlapText, nullptr, overlapAdvice},
    {DoubtKind::kJobsTwice, twiceText,
     "--pp, --dp and --tp say how ranks are arranged; give each rank's file once"},
    {DoubtKind::kTooEfficient, tooEfficientText, kCheckJobs},
    {DoubtKind::kDeviceBeyondRun, deviceText, "record again, with less work in a trace"},
    {DoubtKind::kNothingRecorded, nothingText,
     "look at the step in pipe-view; --steps leaves it out"},
    {DoubtKind::kSilentRanks, silentText,
     "record their messages too, or give the logs of one run only"},
    {DoubtKind::kStepsInside, insideText, "look at the step in pipe-view; --steps leaves it out"},
    {DoubtKind::kMissingJobs, missingText,
     "record whole steps; --steps leaves those out that are not"},
    {DoubtKind::kIncompleteSteps, saidText, nullptr, saidAdvice},
    {DoubtKind::kMessagesBetween, betweenText,
     "--pp, --dp and --tp say how ranks are arranged; correct `Profiler Meta:` where logs say it"},
    {DoubtKind::kRanksContradict, contradictText,
     "name each file by its rank (rank0.json, rank1.json), or record with a profiler that writes "
     "the rank into the file"},
    {DoubtKind::kHiddenWaits, hiddenWaitsText,
     "record with torch.profiler of PyTorch 2.4 or later, which names the group of each collective "
     "of NCCL or Gloo; of other libraries nothing names it (docs/inputs/torch.md)"},
    {DoubtKind::kFoundJobs, foundJobsText,
     "`record_function` around each job, or annotations of the capture of a graph, leave no doubt "
     "(docs/inputs/torch.md)"},
}};

static_assert(
    [] {
      for (std::size_t i = 0; i < kDoubtSentences.size(); ++i) {
        const DoubtSentence& row = kDoubtSentences[i];
        const bool hasAdvice = (row.advice == nullptr) != (row.adviceOf == nullptr);
        if (row.kind != static_cast<DoubtKind>(i) || row.text == nullptr || !hasAdvice)
          return false;
      }
      return true;
    }(),
    "a kind of doubts lacks its sentence, or stands elsewhere");

const DoubtSentence& sentenceOf(const Doubt& doubt) {
  return kDoubtSentences[static_cast<std::size_t>(doubt.kind)];
}

}  // namespace

std::string doubtText(const Doubt& doubt) {
  return doubt.said.empty() ? sentenceOf(doubt).text(doubt) : doubt.said;
}

std::string doubtAdvice(const Doubt& doubt) {
  if (!doubt.said.empty()) return doubt.advice;
  const DoubtSentence& row = sentenceOf(doubt);
  return row.adviceOf == nullptr ? row.advice : row.adviceOf(doubt);
}

std::string doubtLine(const Doubt& doubt) {
  const std::string advice = doubtAdvice(doubt);
  return "doubt: " + doubtText(doubt) + (advice.empty() ? "" : "; " + advice);
}

std::string noFiguresText(const std::vector<Doubt>& doubts) {
  std::string text = "figures of this run would mean nothing";
  for (const Doubt& doubt : doubts) {
    if (!doubt.isMeaningless) continue;
    const std::string advice = doubtAdvice(doubt);
    text += "; " + doubtText(doubt) + (advice.empty() ? "" : "; " + advice);
  }
  return text + "; --force prints them all the same";
}

std::string doubtsJson(const std::vector<Doubt>& doubts) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const Doubt& doubt : doubts) {
    const DoubtRow& row = rowOf(doubt.kind);
    Json object = {{"kind", row.name},
                   {"text", doubtText(doubt)},
                   {"advice", doubtAdvice(doubt)},
                   {"effect", effectName(row.effect)},
                   {"meaningless", doubt.isMeaningless}};
    if (!doubt.ranks.empty()) object["ranks"] = doubt.ranks;
    if (doubt.time > 0) object["time_ns"] = doubt.time;
    if (doubt.beside > 0) object["beside_ns"] = doubt.beside;
    if (doubt.count > 0) object["count"] = doubt.count;
    if (doubt.ratio > 0) object["ratio"] = doubt.ratio;
    if (doubt.step != kNotGiven) object["step"] = doubt.step;
    if (!doubt.made.empty()) object["jobs"] = {doubt.made, doubt.used};
    list.push_back(std::move(object));
  }
  return list.dump(1);
}

const char* effectName(DoubtEffect effect) {
  switch (effect) {
    case DoubtEffect::kLeftOut: return "left_out";
    case DoubtEffect::kCut: return "cut";
    case DoubtEffect::kCausesWithheld: return "causes_withheld";
    case DoubtEffect::kMoved: return "moved";
    case DoubtEffect::kFiguresDoubtful: break;
  }
  return "figures_doubtful";
}

}  // namespace pipetrace
