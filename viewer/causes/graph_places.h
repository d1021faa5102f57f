#pragma once

#include <QString>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/causes/explanation.h"
#include "analysis/causes/findings.h"
#include "chart/chart_model.h"
#include "chart/links/event_box.h"
#include "chart/search/usual_times.h"
#include "viewer/words/job_fields.h"

namespace pipetrace {

/// Where the jobs, messages and bubbles of an explanation are in a chart, and the other way round.
/// Jobs and bubbles are found in logarithmic time. Immutable: several threads may use it.
class GraphPlaces {
 public:
  using Id = JobGraph::Id;

  /// Both are of one timeline, and must outlive it.
  GraphPlaces(const Explanation& explanation, const ChartModel& model);

  const Explanation& explanation() const { return explanation_; }
  const JobGraph& graph() const { return *explanation_.graph; }
  const ChartModel& model() const { return model_; }

  /// The job or collective of the graph that the event is. A send or receive gives its message, if
  /// a job near it needs that. kNone for all else.
  Id nodeOf(const EventSpot& spot) const;
  /// Where a job, a collective or a message is; a message is where its receive is, else its send.
  std::optional<EventSpot> spotOf(Id node) const;
  /// The bubble that an event of a chart is; null where it is none, or cut in another way.
  const Bubble* bubbleOf(const EventSpot& spot) const;
  /// Where the job or the message is that a bubble is blamed on; nothing where it has none.
  std::optional<EventSpot> culpritOf(const Bubble& bubble) const;
  /// Where the evidence of a finding is.
  std::optional<EventSpot> spotOf(const Evidence& evidence) const;
  /// The index in ranks() of the rank that a row is of; nothing where the graph lacks it.
  std::optional<std::uint32_t> rankOf(std::size_t row) const;
  /// The pipeline (an index) that a rank (an index) is in.
  std::size_t pipelineOf(std::uint32_t rank) const { return pipelineOf_[rank]; }
  /// The step's window that a job counts in; null where it is in none.
  const BubbleWindow* windowOf(Id job) const;
  /// The slack of a compute job; negative where nobody knows.
  Nanoseconds slackOf(Id job) const {
    return job < explanation_.slack.size() ? explanation_.slack[job] : -1;
  }
  /// A job as plans name it, and its rank: "2F5 on rank 2".
  std::string nameOf(Id node) const;

 private:
  std::optional<EventSpot> spotOf(const Event* event, std::uint32_t rank) const;
  std::optional<EventSpot> spotIn(std::size_t row, const Event* event) const;
  std::optional<EventSpot> spotIn(std::size_t row, const Bubble& bubble) const;
  Id messageOf(const Event& event, std::uint32_t rank) const;

  const Explanation& explanation_;
  const ChartModel& model_;
  std::vector<std::vector<std::size_t>> rows_;  // by rank (an index)
  std::vector<std::size_t> pipelineOf_;         // by rank
};

/// Which kinds of groups a compute job waited and moved data with, where ranks meet inside it, as
/// far as it did: "Waiting in", "5.000 ms tensor-parallel all-reduce". Empty for all other events.
std::vector<JobField> groupFields(const GraphPlaces& places, const EventSpot& spot);

/// The own times of compute jobs where ranks meet inside them; null for other runs.
std::shared_ptr<const JobOwnTimes> ownTimesOf(const GraphPlaces& places);

/// A place in the chart where a finding can be seen.
struct FindingPlace {
  EventSpot spot;
  QString words;  ///< "bubble of 12.30 ms on rank 0, step 3"
};

/// Where the evidence of a finding is. Empty where none of it is in the chart.
std::vector<FindingPlace> placesOfFinding(const Finding& finding, const GraphPlaces& places);

}  // namespace pipetrace
