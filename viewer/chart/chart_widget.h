#pragma once

#include <QAbstractScrollArea>
#include <QPainter>
#include <QPoint>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "chart/chart_hit.h"
#include "chart/chart_view.h"
#include "chart/rows/row_state.h"
#include "chart/search/bubble_by_length.h"
#include "chart/steps/step_span.h"
#include "viewer/chart/view_history.h"
#include "viewer/paint/qt_canvas.h"
#include "viewer/paint/row_tiles.h"
#include "viewer/words/job_fields.h"

namespace pipetrace {

/// Something that a chart draws over its rows, such as the outline of the selection. On the GUI
/// thread.
class ChartOverlay {
 public:
  ChartOverlay() = default;
  ChartOverlay(const ChartOverlay&) = delete;
  ChartOverlay& operator=(const ChartOverlay&) = delete;
  virtual ~ChartOverlay() = default;

  /// Paints on the viewport; the painter is clipped to view.area. Must not keep the view.
  virtual void paint(QPainter& painter, const ChartView& view) = 0;
};

/// What a chart is in its window.
enum class ChartRole : std::uint8_t {
  kMain,
  /// Of another run, under the main one (ChartStack), which has the commands, the filter, the strip
  /// and the areas for both. It has no legend but that of setLegend().
  kUnder
};

class AreaDrag;
class OverviewStrip;
class RowFilter;
class RowLabels;

/// The Gantt chart: legend and time axis on top, row labels at the left, jobs and bubbles. The
/// wheel and keys zoom around the cursor; keys pan, dragging selects an area. The event under the
/// cursor has a tooltip. A click selects an event, a double click on a bubble its culprit. Above
/// the chart of several steps is a strip of the whole run. docs/viewer.md lists all of this.
class ChartWidget : public QAbstractScrollArea {
  Q_OBJECT

 public:
  static constexpr int kMargin = 8;          ///< pixels around the parts of the chart
  static constexpr double kZoomStep = 1.25;  ///< of a notch of the wheel

  explicit ChartWidget(QWidget* parent = nullptr, ChartRole role = ChartRole::kMain);
  ~ChartWidget() override;

  /// Shows all of `model`, which must live until the next call; nothing for nullptr.
  void setModel(const ChartModel* model);
  /// Shows `model`, another one of the same run: it has grown, or has other colours. The model that
  /// was shown must still live. The time in view, the scroll and the selection stay. A chart of the
  /// whole run, or of its end, goes on to show that.
  void replaceModel(const ChartModel* model);
  const ChartModel* model() const { return model_; }
  /// Draws everything again, after the model's colours have changed.
  void redraw();
  /// Call it before ChartModel::add(): it stops the threads that read the model.
  void modelWillChange() { emit modelChanged(); }
  /// The model has got more. View, selection and area stay.
  void modelHasChanged();

  /// Lets the view reach over `also`, too, until there is another model; no more than the run for
  /// nothing. Charts that show the same time from different begins need it.
  void widenTime(std::optional<Timeline::Span> also);
  /// The time of widenTime() and of the model. There must be one.
  Timeline::Span reach() const { return reach_; }
  /// The row labels take that many pixels at least, so that charts below each other have one axis.
  void setLeastLabelWidth(int pixels);
  /// The pixels that the labels of these rows need.
  int neededLabelWidth() const;
  /// Shows this legend in place of the model's, which may be empty; nothing: the model's.
  void setLegend(std::optional<std::vector<LegendEntry>> legend);
  /// Leaves that many pixels under each compute row, for an overlay.
  void setUnderRows(int pixels);
  /// Selects an event of the model, and leaves the view as it is.
  void selectInPlace(const std::optional<ChartHit>& hit) { select(hit); }

  /// Shows these steps; the whole run if they are all steps.
  void showSteps(const StepChoice& steps);
  /// Shows this time, without a margin.
  void showSpan(Nanoseconds begin, Nanoseconds end);
  /// The visible part of the chart, in pixels of viewport(). There must be a model.
  ChartView view() const;
  /// Which rows are shown. setModel() shows them as a run is opened; nothing changes without a
  /// model.
  const RowState& rowState() const { return rows_; }
  void setRowState(RowState state);
  void foldAllRows(bool isFolded);
  /// Sets RowState::height. The row in the middle of the chart, or the selected one, stays there.
  void setRowHeight(int height);
  /// Makes rows higher or lower by a step that is easy to see.
  void stepRowHeight(bool isHigher);
  /// The height of a compute row with one sub-lane, in pixels.
  int computeHeight() const { return computeHeight_; }
  RowLabels* rowLabels() const { return labels_; }
  RowFilter* rowFilter() const { return filter_; }
  /// Scrolls the rows as far as needed to see that place of the layout.
  void bringRowIntoView(const RowPlace& place);
  bool isFitted() const { return isFitted_; }
  const std::optional<ChartHit>& selection() const { return selection_; }
  /// The job that the selected bubble is blamed on; nothing if none is selected or known.
  const std::optional<ChartHit>& culprit() const { return culprit_; }
  /// Whether showBubble() has a bubble to go back to.
  bool hasBubble() const { return bubble_.has_value(); }
  /// Selects an event of the model, and brings it into view.
  void goTo(const ChartHit& hit);
  /// Scrolls to a row of the model.
  void showRow(std::size_t row);
  /// Shows [begin, end) with a small margin.
  void showTime(Nanoseconds begin, Nanoseconds end);
  /// Brings the time into the middle of the view.
  void showInstant(Nanoseconds time);
  /// Zooms as that many turns of the wheel do; in, if `steps` is positive.
  void zoomBy(double steps);
  /// Moves the view forward by that many times its width.
  void panBy(double widths);
  ViewState viewState() const;
  void restore(const ViewState& state);
  /// The views before this one.
  ViewHistory& history() const { return *history_; }
  /// The area that was dragged over the rows, a step's, or a job's.
  const std::optional<ChartArea>& area() const { return marked_; }
  void setArea(std::optional<ChartArea> area);
  /// The number of the step that is selected: as the area, by an event, or by being the only one
  /// that is wholly in view. Nothing if none is.
  std::optional<int> selectedStep() const;
  /// Whether the area is being dragged: then it changes often.
  bool isDraggingArea() const;
  /// The bubble ratios of the steps, by their numbers; the strip and the step ruler show them.
  void setBubbleRatios(std::map<std::int32_t, double> ratios);
  const std::map<std::int32_t, double>& bubbleRatios() const { return bubbleRatios_; }
  /// A step in words, with its duration.
  QString stepText(const StepSpan& step) const;
  /// Moves the chart by that many pixels, as if it was dragged.
  void scrollBy(QPoint pixels);
  /// Where the event that a bubble is blamed on is; nothing where that is not known, or not in the
  /// model.
  using CulpritFinder = std::function<std::optional<ChartHit>(const ChartHit& bubble)>;
  /// Asks `finder` for culprits from now on. Where it finds none, and without one, the bubbles of
  /// the profile say what they know (culpritOf()).
  void findCulpritsBy(CulpritFinder finder);
  /// What else is known of an event, for its tooltip.
  using FieldFinder = std::function<std::vector<JobField>(const ChartHit& event)>;
  /// Asks `finder` for more to say of events from now on; null: there is nothing more.
  void findFieldsBy(FieldFinder finder) { fields_ = std::move(finder); }
  /// Draws `overlay` over the rows from now on, after those that were added before.
  void addOverlay(std::unique_ptr<ChartOverlay> overlay);

 public slots:
  void fit();
  /// Zooms to the selected event, with some time around it.
  void zoomToSelection();
  /// Shows the next step at the same zoom, its start where that of the step before was. From the
  /// whole run it goes to the first step.
  void showNextStep();
  /// The same with the step before. From the whole run it goes to the last step.
  void showPreviousStep();
  /// Shows the step with this number, if there is one.
  void showStep(int number);
  /// Shows the step of median duration; of an even count the lower one.
  void showMedianStep();
  void showSlowestStep();
  /// Selects neither an event nor an area; emits nothingToClear() if neither was selected.
  void clearSelection();
  /// Makes the time and the row of the selected event the area.
  void selectAreaOfJob();
  /// Makes a step in all rows the area: the selected event's, else the first one that is wholly in
  /// view, else the one at the left.
  void selectAreaOfStep();
  /// Shows the time of the area, else that of the selected event. The whole run if there is
  /// neither, or if the view already is there.
  void fitSelection();
  /// Whether dragging moves the chart and Shift + dragging selects an area, instead of the reverse.
  void setDragPans(bool pans) { dragPans_ = pans; }
  /// Selects the culprit of the selected bubble and brings it into view.
  void showCulprit();
  /// Goes back to the bubble from which showCulprit() came.
  void showBubble();
  /// Selects the longest bubble of the area, else of the run; from a bubble the next shorter one.
  /// Those that the schedule itself has count only where there are no others.
  void goToShorterBubble();
  /// Selects the next longer bubble; without a bubble the shortest.
  void goToLongerBubble();
  /// Selects the next event of the selected one's lane; without a selection the first one in view.
  void goToNextInLane();
  void goToPreviousInLane();

 signals:
  /// Comes before the old model goes, or before it gets more.
  void modelChanged();
  /// The same model has more than before.
  void modelExtended();
  void areaChanged();
  void viewChanged();
  void selectionChanged();
  void nothingToClear();
  /// A command has shown that step of the model, alone or first.
  void stepShown(std::size_t step);
  /// showCulprit() has none to go to: a bubble is selected that has none, or no bubble is selected.
  void culpritMissing(bool isOfBubble);
  /// The user wants to see what the selected job waited for, what waited for it, and the critical
  /// path or no longer. Those who know answer (viewer/causes).
  void waitedForWanted();
  void waitingWanted();
  void criticalPathWanted(bool isShown);
  void rowsChanged();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  const std::vector<LegendEntry>& legend() const;
  void layOut();
  void layOutRows();
  void rowsHaveChanged();
  /// Unfolds and shows what hides a row of the model.
  void revealRow(std::size_t row);
  void viewHasChanged();
  void zoomAt(int viewportX, double steps);
  void pan(int pixels);
  bool zoomByGesture(QEvent* event);
  void drag(QPoint position);
  void click(QPoint position);
  void endAreaDrag();
  void clearArea();
  void placeStrip();
  std::optional<std::size_t> stepInView() const;
  void showAligned(std::size_t step);
  /// The step whose time is above the rows at that position; null elsewhere.
  const StepSpan* rulerStepAt(QPoint position) const;
  void selectStep(const StepSpan& step);
  void hideTooltip();
  void showTooltipAt(QPoint position, QPoint globalPosition);
  void findCulprit();
  /// `bubble`: the bubble whose culprit it is, if that is how it was reached.
  void select(const std::optional<ChartHit>& hit,
              const std::optional<ChartHit>& bubble = std::nullopt);
  void bringIntoView(const ChartHit& hit);
  void goAlongLane(bool isForward);
  void goToBubble(LengthOrder order);
  int zoomCenter() const;
  void drawSelection(QPainter& painter) const;
  void outline(QPainter& painter, const ChartHit& hit, const QPen& pen) const;

  static constexpr int kLeastLabels = 110;

  const ChartRole role_;
  const ChartModel* model_ = nullptr;
  int leastLabelWidth_ = kLeastLabels;
  std::optional<std::vector<LegendEntry>> ownLegend_;
  int underRows_ = 0;

  RowState rows_;
  RowState rowsOfNextModel_;
  RowLabels* labels_ = nullptr;
  RowFilter* filter_ = nullptr;
  RowLayout layout_;
  int computeHeight_ = RowHeights{}.compute;
  TimeAxis axis_{0, 1, 1};
  Timeline::Span reach_;
  PixelRect area_;  // of the rows
  PixelRect legend_;
  int labelWidth_ = 0;
  mutable FontCache fonts_;
  RowTiles tiles_;
  std::vector<std::unique_ptr<ChartOverlay>> overlays_;
  bool isFitted_ = true;
  std::optional<ChartHit> selection_;
  CulpritFinder culprits_;
  FieldFinder fields_;
  std::optional<ChartHit> culprit_;  // of the selection
  std::optional<ChartHit> bubble_;   // from which the selection was reached
  std::optional<ChartArea> marked_;
  std::unique_ptr<AreaDrag> areaDrag_;
  OverviewStrip* strip_ = nullptr;
  std::map<std::int32_t, double> bubbleRatios_;
  bool dragPans_ = false;
  bool isPanning_ = false;  // while the button is down
  std::optional<QPoint> pressedAt_;
  QPoint draggedFrom_;
  bool isDragging_ = false;
  int wheelRest_ = 0;     // rest of a vertical scroll, in eighths of a degree
  int heightRest_ = 0;    // the same of a turn that changes the height of rows
  double panRest_ = 0;    // rest of a pan, in pixels
  ViewHistory* history_;  // a child
};

}  // namespace pipetrace
