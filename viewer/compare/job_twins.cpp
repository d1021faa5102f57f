#include "viewer/compare/job_twins.h"

#include <algorithm>
#include <compare>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/median.h"
#include "analysis/present/diff_reasons.h"
#include "trace/text/number_text.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {

/// What jobs of both runs have to have in common.
struct JobTwins::Key {
  int replica = 0;  // data-parallel, then tensor-parallel index
  int peer = 0;
  std::int32_t step = 0;   // since the first
  std::int32_t place = 0;  // a stage, else a position
  std::int32_t chunk = 0;  // 0 of a stage
  JobKind kind = JobKind::kOther;
  std::int32_t microBatch = 0;  // of jobs that name none: which of them it is
  auto operator<=>(const Key&) const = default;
};

struct JobTwins::Found {
  Key key;
  JobSpot job;
};

namespace {

constexpr Nanoseconds kWorthALook = 1000;  // ns

Nanoseconds furtherFromZero(Nanoseconds x, Nanoseconds y) {
  return std::abs(x) < std::abs(y) ? y : x;
}

/// Jobs that only one run has, by why the other has no such job.
class Unmatched {
 public:
  void add(const std::string& why, std::int32_t number) {
    Part& part = parts_[why];
    ++part.jobs;
    if (number >= 0) part.numbers.insert(number);
  }

  void say(const char* run, std::vector<std::string>& sentences) const {
    for (const auto& [why, part] : parts_) {
      std::string text = std::string("only ") + run + " has " + countText(part.jobs, "job");
      if (!part.numbers.empty()) {
        const std::vector<int> numbers(part.numbers.begin(), part.numbers.end());
        text += " of " + (numbers.size() == 1 ? why : pluralOf(why)) + " " + numbersText(numbers);
      } else if (!why.empty()) {
        text += " " + why;
      }
      sentences.push_back(text + " in this step");
    }
  }

 private:
  struct Part {
    std::size_t jobs = 0;
    std::set<std::int32_t> numbers;
  };

  static std::string pluralOf(const std::string& word) {
    return word.ends_with("ch") ? word + "es" : word + "s";
  }

  std::map<std::string, Part> parts_;
};

}  // namespace

JobTwins::JobTwins(const StepOfRun& a, const StepOfRun& b, const Comparison& how,
                   const std::atomic<bool>& stop)
    : steps_{a.step, b.step} {
  if (how.places == Comparison::Places::kNone) {
    unmatched_ = {"no job has a twin, as stages of A and B are not the same"};
    return;
  }
  std::vector<Found> ofA = jobsIn(a, how);
  if (stop) return;
  std::vector<Found> ofB = jobsIn(b, how);
  if (stop) return;
  join(std::move(ofA), std::move(ofB), stop);
  if (stop) return;
  addRows(a, WhichRun::kA);
  addRows(b, WhichRun::kB);
  sortByDifference();
}

/// The compute jobs of the step, by key. Of an asynchronous run the step is its whole window, with
/// jobs of many steps.
std::vector<JobTwins::Found> JobTwins::jobsIn(const StepOfRun& of, const Comparison& how) {
  std::vector<Found> jobs;
  std::size_t ofThisStep = 0;
  for (std::size_t row = 0; row < of.model.rows().size(); ++row) {
    const ChartRow& lanes = of.model.rows()[row];
    const auto place = of.topology.places.find(lanes.rank);
    if (!lanes.isCompute || place == of.topology.places.end()) continue;
    std::map<std::tuple<std::int32_t, std::int32_t, JobKind>, std::int32_t> unnamed;
    for (const LaneIndex& lane : lanes.lanes) {
      for (std::size_t i = lane.firstBeginningAt(of.step.begin); i < lane.size(); ++i) {
        const Event& job = lane[i];
        if (job.begin >= of.step.end) break;
        if (!isCompute(job.kind) || job.phase != of.step.phase) continue;
        Key key{.replica = of.topology.dataParallelIndex(place->second.replica),
                .peer = of.topology.tensorParallelIndex(place->second.replica),
                .step = job.step - of.step.step,
                .place = job.stage,
                .kind = how.as(job.kind),
                .microBatch = job.microBatch};
        if (how.places == Comparison::Places::kPositions || job.stage == kNotGiven) {
          key.place = place->second.position;
          key.chunk = how.places == Comparison::Places::kPositions ? 0 : job.chunk;
        }
        if (job.microBatch == kNotGiven) {
          key.microBatch = unnamed[{key.place, key.chunk, key.kind}]++;
        }
        if (key.step == 0) ++ofThisStep;
        jobs.push_back({key, {row, &job}});
      }
    }
  }
  // Replicas may be in the next step already: these jobs are not of this one.
  if (ofThisStep * 2 >= jobs.size()) {
    std::erase_if(jobs, [](const Found& job) { return job.key.step != 0; });
  }
  return jobs;
}

void JobTwins::join(std::vector<Found> a, std::vector<Found> b, const std::atomic<bool>& stop) {
  const auto before = [](const Found& x, const Found& y) {
    if (x.key != y.key) return x.key < y.key;
    return x.job.event->begin < y.job.event->begin;
  };
  std::sort(a.begin(), a.end(), before);
  if (stop) return;
  std::sort(b.begin(), b.end(), before);
  if (stop) return;
  std::array<std::set<std::int32_t>, 2> microBatches;
  std::array<std::set<std::pair<std::int32_t, std::int32_t>>, 2> places;
  std::array<std::set<std::pair<int, int>>, 2> pipelines;
  std::array<std::set<JobKind>, 2> kinds;
  for (const std::size_t run : {0, 1}) {
    for (const Found& job : run == 0 ? a : b) {
      microBatches[run].insert(job.key.microBatch);
      places[run].insert({job.key.place, job.key.chunk});
      pipelines[run].insert({job.key.replica, job.key.peer});
      kinds[run].insert(job.key.kind);
    }
  }
  std::array<Unmatched, 2> unmatched;
  const auto explain = [&](const Found& job, std::size_t other) {
    Unmatched& list = unmatched[1 - other];
    const Key& key = job.key;
    if (!pipelines[other].contains({key.replica, key.peer})) {
      list.add("of pipelines that the other run has not", kNotGiven);
    } else if (!places[other].contains({key.place, key.chunk})) {
      list.add("stage", job.job.event->stage);
    } else if (!kinds[other].contains(key.kind)) {
      list.add("of a kind that the other run has not (" + jobsText(key.kind) + ")", kNotGiven);
    } else if (!microBatches[other].contains(key.microBatch)) {
      list.add("micro-batch", job.job.event->microBatch);
    } else {
      list.add("", kNotGiven);
    }
  };
  jobs_.reserve(a.size() + b.size());
  for (std::size_t i = 0, k = 0; i < a.size() || k < b.size();) {
    const bool isOfB = i == a.size() || (k < b.size() && b[k].key < a[i].key);
    const Key key = isOfB ? b[k].key : a[i].key;
    Twins twins{.firstA = static_cast<std::uint32_t>(jobs_.size())};
    const std::size_t from = i;
    for (; i < a.size() && a[i].key == key; ++i) {
      jobs_.push_back(a[i].job);
      twins.a += a[i].job.event->duration();
    }
    twins.firstB = static_cast<std::uint32_t>(jobs_.size());
    const std::size_t fromB = k;
    for (; k < b.size() && b[k].key == key; ++k) {
      jobs_.push_back(b[k].job);
      twins.b += b[k].job.event->duration();
    }
    twins.end = static_cast<std::uint32_t>(jobs_.size());
    twins_.push_back(twins);
    if (twins.isInBoth()) {
      matched_ += twins.end - twins.firstA;
      continue;
    }
    for (std::size_t job = from; job < i; ++job) explain(a[job], 1);
    for (std::size_t job = fromB; job < k; ++job) explain(b[job], 0);
  }
  unmatched[0].say("A", unmatched_);
  unmatched[1].say("B", unmatched_);
}

void JobTwins::addRows(const StepOfRun& of, WhichRun run) {
  std::vector<Row>& rows = rows_[static_cast<std::size_t>(run)];
  rows.resize(of.model.rows().size());
  for (std::uint32_t i = 0; i < twins_.size(); ++i) {
    if (!twins_[i].isInBoth()) continue;
    for (const JobSpot& job : jobsOf(twins_[i], run)) {
      rows[job.row].jobs.push_back({job.event->begin, job.event->end, i});
    }
  }
  for (Row& row : rows) {
    std::sort(row.jobs.begin(), row.jobs.end(), [](const Drawn& x, const Drawn& y) {
      return std::pair(x.begin, x.twins) < std::pair(y.begin, y.twins);
    });
    for (std::size_t first = 0; first < row.jobs.size(); first += kBlock) {
      Nanoseconds largest = 0;
      for (std::size_t i = first; i < std::min(first + kBlock, row.jobs.size()); ++i) {
        largest = furtherFromZero(largest, twins_[row.jobs[i].twins].difference());
      }
      row.largest.push_back(largest);
    }
  }
}

void JobTwins::sortByDifference() {
  std::vector<Nanoseconds> lengths;
  for (const Twins& twins : twins_) {
    if (twins.isInBoth()) lengths.push_back(twins.a);
  }
  least_ = std::max(medianOf(lengths) / 100, kWorthALook);
  for (std::uint32_t i = 0; i < twins_.size(); ++i) {
    const bool differs = twins_[i].isInBoth() && std::abs(twins_[i].difference()) >= least_;
    if (differs) byDifference_.push_back(i);
  }
  std::sort(byDifference_.begin(), byDifference_.end(), [&](std::uint32_t x, std::uint32_t y) {
    const auto rank = [&](std::uint32_t i) {
      const JobSpot& first = jobs_[twins_[i].firstA];
      return std::tuple(-std::abs(twins_[i].difference()), first.event->begin, first.row, i);
    };
    return rank(x) < rank(y);
  });
}

std::span<const JobSpot> JobTwins::jobsOf(const Twins& twins, WhichRun run) const {
  const std::span<const JobSpot> all(jobs_);
  return run == WhichRun::kA ? all.subspan(twins.firstA, twins.firstB - twins.firstA)
                             : all.subspan(twins.firstB, twins.end - twins.firstB);
}

const JobTwins::Twins* JobTwins::twinsOf(WhichRun run, const JobSpot& job) const {
  const std::span<const Drawn> jobs = drawnIn(run, job.row);
  auto at = std::partition_point(jobs.begin(), jobs.end(),
                                 [&](const Drawn& each) { return each.begin < job.event->begin; });
  for (; at != jobs.end() && at->begin == job.event->begin; ++at) {
    for (const JobSpot& each : jobsOf(twins_[at->twins], run)) {
      if (each.event == job.event) return &twins_[at->twins];
    }
  }
  return nullptr;
}

std::span<const JobTwins::Drawn> JobTwins::drawnIn(WhichRun run, std::size_t row) const {
  const std::vector<Row>& rows = rows_[static_cast<std::size_t>(run)];
  return row < rows.size() ? std::span<const Drawn>(rows[row].jobs) : std::span<const Drawn>();
}

Nanoseconds JobTwins::largestOf(WhichRun run, std::size_t row, std::size_t first,
                                std::size_t last) const {
  const Row& in = rows_[static_cast<std::size_t>(run)][row];
  Nanoseconds largest = 0;
  for (std::size_t i = first; i < last;) {
    if (i % kBlock == 0 && i + kBlock <= last) {
      largest = furtherFromZero(largest, in.largest[i / kBlock]);
      i += kBlock;
    } else {
      largest = furtherFromZero(largest, twins_[in.jobs[i++].twins].difference());
    }
  }
  return largest;
}

Nanoseconds JobTwins::longestDifference() const {
  return byDifference_.empty() ? 0 : std::abs(twins_[byDifference_.front()].difference());
}

}  // namespace pipetrace
