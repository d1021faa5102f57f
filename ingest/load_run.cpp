#include "ingest/load_run.h"

#include <algorithm>
#include <utility>

#include "analysis/events_without_time.h"
#include "analysis/run/topology/group_places.h"
#include "analysis/run/topology/stage_places.h"
#include "parser/trace_reader.h"
#include "trace/checked_span.h"

namespace pipetrace {
namespace {

void checkForJobs(const Timeline& timeline, Diagnostics& diagnostics) {
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (isCompute(event.kind)) return;
    }
  }
  diagnostics.add({.message = "no compute job (forward, backward, ...) in the input, so there are "
                              "no steps and no bubbles",
                   .advice = "jobs are known by the types of job logs (docs/log-format.md), and by "
                             "the names of other programs' jobs (docs/inputs.md); --kinds gives "
                             "other names their meaning"});
}

/// Whether some of the run was read as it was recorded, rather than from a profile.
bool hasRecords(const std::vector<LoadedFile>& files) {
  return std::any_of(files.begin(), files.end(),
                     [](const LoadedFile& file) { return file.record != RecordKind::kNone; });
}

bool hasBubbles(const Timeline& timeline) {
  return std::any_of(timeline.tracks.begin(), timeline.tracks.end(), [](const Track& track) {
    return track.lane == kBubbleLane && !track.events.empty();
  });
}

}  // namespace

Run loadRun(const RunRequest& request, const TraceReaders& readers, Diagnostics& diagnostics,
            std::vector<LoadedFile>* files, Alignment* alignment) {
  std::vector<LoadedFile> read;
  Timeline timeline = loadTimeline(request.inputs, readers, request.reading, diagnostics, &read);
  leaveOutEventsWithoutTime(timeline, request.reading.threads);
  subtractableSpan(timeline, request.reading.threads);
  placeByGroups(timeline, diagnostics);
  giveTopology(timeline, request.topology, diagnostics);
  placeByStages(timeline, diagnostics);
  const bool isKept = request.profilesAsWritten && !hasRecords(read);
  timeline = aligned(std::move(timeline), isKept ? AlignBy::kNone : request.align, diagnostics,
                     alignment, request.reading.threads);
  checkedSpan(timeline, request.reading.threads);
  completeTimeline(timeline, diagnostics, request.reading.threads);
  checkForJobs(timeline, diagnostics);
  checkSelection(timeline, request.selection, diagnostics);
  if (files != nullptr) *files = std::move(read);
  return Run(inPhaseOf(request.selection.steps, std::move(timeline)), request.reading.threads);
}

BubbleChoice bubblesFor(const Run& run, const RunRequest& request) {
  if (!request.bubbles) return BubbleChoice::kNone;
  const bool areKept = request.profilesAsWritten && hasBubbles(run.timeline());
  return areKept ? BubbleChoice::kAsRead : BubbleChoice::kFound;
}

ReadyRun readyToShow(Run run, const RunRequest& request) {
  const BubbleChoice bubbles = bubblesFor(run, request);
  ReadyRun whole = std::move(run).ready(bubbles);
  return {selected(std::move(whole.timeline), request.selection),
          selected(std::move(whole.summary), request.selection)};
}

}  // namespace pipetrace
