#pragma once

#include <stdexcept>
#include <string>

#include "trace/bubble_class.h"
#include "viewer/window/main_window.h"

namespace pipetrace {

// Windows brought into the states that pictures show, as a user would: with keys and the mouse.
// They throw std::runtime_error where that fails.

/// Opens the sample, and waits until it is explained.
void openSample(MainWindow& window);
/// Opens a run of two replicas of an interleaved pipeline, of which the second is slower.
void openReplicas(MainWindow& window);
/// Opens a run of two stages of four tensor-parallel ranks, whose layers take longer or shorter by
/// rank and micro-batch.
void openUnevenPeers(MainWindow& window);
/// Opens a run and, under it, one whose stage 2 has slower backwards; selects the longest
/// difference.
void openTwoRuns(MainWindow& window);
/// Opens a run with a long and a late forward in the step that is shown, and shows the plan.
void openWithPlan(MainWindow& window);
/// Shows the heat map of waits inside jobs.
void showWaiting(MainWindow& window);
/// Shows the panel of what-ifs with these changes, and waits for the answer and for advice.
void askWhatIf(MainWindow& window, const char* changes);
/// Selects the first bubble of a class that is in view.
void selectBubble(MainWindow& window, BubbleClass cause);
/// Selects the first job of the kind and micro-batch on the rank that is in view, and waits for its
/// details.
void selectJob(MainWindow& window, int rank, JobKind kind, int microBatch);
/// Searches, goes to the first match, and waits until all matches are counted.
void find(MainWindow& window, const char* query);
/// Shows the critical paths of the steps in view, and waits until they are computed.
void showCriticalPath(MainWindow& window);
/// Drags over the chart, and waits for the statistics: from and to are shares of its width and
/// height.
void dragArea(MainWindow& window, QPointF from, QPointF to);
/// Presses a key in the chart.
void press(MainWindow& window, Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier);
/// Runs the command of that object name, such as "theme-paddle".
void run(MainWindow& window, const char* command);
/// The part of the window of that type, and of that object name if there is one.
template <typename Part>
Part& partOf(MainWindow& window, const char* name = "") {
  auto* const part = window.findChild<Part*>(QString::fromLatin1(name));
  if (part == nullptr) throw std::runtime_error("no such part of the window: " + std::string(name));
  return *part;
}

}  // namespace pipetrace
