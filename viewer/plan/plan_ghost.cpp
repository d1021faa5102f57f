#include "viewer/plan/plan_ghost.h"

#include <QMouseEvent>
#include <algorithm>
#include <utility>

#include "analysis/present/diff_reasons.h"
#include "chart/colors/difference_color.h"
#include "chart/draw/draw_chart.h"
#include "chart/text/cell_label.h"
#include "viewer/paint/qt_canvas.h"
#include "viewer/words/job_fields.h"

namespace pipetrace {
namespace {

constexpr int kGap = 2;         // pixels above and below a rank's plan
constexpr int kMark = 3;        // pixels of a mark
constexpr int kLeastJob = 3;    // pixels of a job, in the mean: else a step is one area
constexpr double kPale = 0.55;  // how much of a job's colour a planned one has
constexpr int kTextSize = 10;   // pixels
constexpr Color kMarkOfOrder{0xCC, 0x33, 0x99};

Color mixed(Color color, Color ground, double share) {
  const auto mix = [share](std::uint8_t x, std::uint8_t y) {
    return static_cast<std::uint8_t>(share * x + (1 - share) * y);
  };
  return {mix(color.red, ground.red), mix(color.green, ground.green), mix(color.blue, ground.blue)};
}

/// With the micro-batch's number as the step has it.
Event eventOf(const PlannedJob& job, const StepBesidePlan& step) {
  Event event;
  event.begin = job.begin;
  event.end = job.end;
  event.kind = job.kind;
  event.stage = job.stage;
  const auto microBatch = static_cast<std::size_t>(job.microBatch);
  event.microBatch =
      microBatch < step.microBatches.size() ? step.microBatches[microBatch] : job.microBatch;
  event.chunk = job.chunk;
  return event;
}

/// Draws the steps in view as planned, and their marks.
class GhostOverlay final : public ChartOverlay {
 public:
  explicit GhostOverlay(const PlanGhost& ghost) : ghost_(ghost) {}

  void paint(QPainter& painter, const ChartView& view) override {
    if (!ghost_.isShown() || ghost_.plan() == nullptr || !ghost_.plan()->exists()) return;
    painter.save();
    QtCanvas canvas(painter, fonts_);
    for (const RowInView& row : view.rowsInView()) {
      if (!row.row->showsLanes() || !view.model.rows()[row.row->row].isCompute) continue;
      const PixelRect clip = view.clipOf(row.isPinned);
      canvas.pushClip(clip);
      for (const StepBesidePlan& step : ghost_.steps()) {
        const StepBesidePlan::Rank* const rank = step.rankOf(row.row->row);
        if (rank != nullptr) drawStep(canvas, view, row.place.bottom() + kGap, step, *rank);
      }
      if (const auto twin = ghost_.twin(); twin && twin->job.row == row.row->row) {
        drawTwin(canvas, view, row.place, *twin);
      }
      canvas.popClip();
    }
    painter.restore();
  }

 private:
  static constexpr int kJobs = PlanGhost::kHeight - 2 * kGap;  // pixels

  void drawStep(Canvas& canvas, const ChartView& view, int top, const StepBesidePlan& step,
                const StepBesidePlan::Rank& rank) const {
    const PlannedSteps& plan = *ghost_.plan();
    const std::vector<PlannedJob>& jobs = plan.positions[rank.position];
    const Theme& theme = view.model.theme();
    const auto xOf = [&](Nanoseconds time) { return view.xOf(step.step.begin + time); };
    const int width = xOf(plan.length) - xOf(0);
    if (width < kLeastJob * static_cast<int>(jobs.size())) {
      canvas.fill({xOf(0), top, std::max(width, 1), kJobs}, theme.grid);
      return;
    }
    const auto textWidth = [&](std::string_view text) {
      return canvas.textWidth(text, {kTextSize, false, theme.ink, TextAlign::kCenter});
    };
    for (const PlannedJob& job : jobs) {
      const int x = xOf(job.begin);
      const int right = xOf(job.end);
      if (right < view.area.x || x > view.area.right()) continue;
      const Event event = eventOf(job, step);
      const Color color = mixed(view.model.colors().of(event), theme.paper, kPale);
      const PixelRect cell{x, top, std::max(right - x - 1, 1), kJobs};
      canvas.fill(cell, color);
      const std::string text = cellLabel(view.model.timeline(), event, cell.width - 2, textWidth);
      if (text.empty()) continue;
      canvas.text(cell, text, {kTextSize, false, textColorOn(color), TextAlign::kCenter});
    }
    for (const Deviation& deviation : step.deviations) {
      if (deviation.job.row == rank.row) drawMark(canvas, view, top, step, rank, deviation);
    }
  }

  /// A bar at the upper edge of the planned job; where it begins late, from there to where it did.
  void drawMark(Canvas& canvas, const ChartView& view, int top, const StepBesidePlan& step,
                const StepBesidePlan::Rank& rank, const Deviation& deviation) const {
    const PlannedJob& job = ghost_.plan()->positions[rank.position][deviation.planned];
    const auto xOf = [&](Nanoseconds time) { return view.xOf(step.step.begin + time); };
    int from = xOf(job.begin);
    int to = xOf(job.end);
    int y = top;
    if (deviation.kind == DeviationKind::kLate) {
      y = top + kJobs - kMark;
      to = view.xOf(deviation.job.event->begin);
    } else if (deviation.kind == DeviationKind::kLong) {
      from = to;
      to = xOf(job.end + deviation.time);
    }
    if (to < view.area.x || from > view.area.right()) return;
    const Color color = deviation.kind == DeviationKind::kOrder
                            ? kMarkOfOrder
                            : differenceColor(view.model.theme(), true);
    canvas.fill({from, y, std::max(to - from, 2), kMark}, color);
  }

  void drawTwin(Canvas& canvas, const ChartView& view, const RowPlace& place,
                const PlanGhost::Twin& twin) const {
    const Stroke stroke{.color = view.model.theme().ink, .width = 1.5};
    const double left = view.xOf(twin.begin);
    const double right = view.xOf(twin.begin + twin.planned.duration());
    const double top = place.bottom() + kGap - 0.5;
    const double bottom = top + kJobs;
    const PixelPoint box[] = {
        {left, top}, {right, top}, {right, bottom}, {left, bottom}, {left, top}};
    canvas.line(box, stroke);
    const double job = view.xOf(twin.job.event->begin);
    const PixelPoint way[] = {{job, static_cast<double>(place.top)},
                              {job, static_cast<double>(place.bottom())},
                              {left, top}};
    canvas.line(way, stroke);
  }

  const PlanGhost& ghost_;
  mutable FontCache fonts_;
};

}  // namespace

PlanGhost::PlanGhost(ChartWidget& chart)
    : chart_(chart), steps_(std::make_shared<const std::vector<StepBesidePlan>>()) {
  chart.addOverlay(std::make_unique<GhostOverlay>(*this));
  chart.viewport()->installEventFilter(this);
  connect(&chart, &ChartWidget::viewChanged, this, &PlanGhost::findSteps);
  connect(&chart, &ChartWidget::modelChanged, this, [this] { setRun(nullptr); });
  connect(&chart, &ChartWidget::selectionChanged, this, &PlanGhost::changed);
}

PlanGhost::~PlanGhost() = default;

void PlanGhost::setRun(std::shared_ptr<const LoadedProfile> run) {
  if (run == run_) return;
  planWork_.cancel();
  stepsWork_.cancel();
  ++asked_;
  ++askedSteps_;
  plan_.reset();
  steps_ = std::make_shared<const std::vector<StepBesidePlan>>();
  wanted_.clear();
  hovered_.reset();
  run_ = std::move(run);
  if (isShown_) makePlan();
  emit changed();
}

void PlanGhost::setShown(bool isShown) {
  if (isShown == isShown_) return;
  isShown_ = isShown;
  chart_.setUnderRows(isShown ? kHeight : 0);
  if (isShown && !plan_) makePlan();
  if (isShown) findSteps();
  chart_.viewport()->update();
  emit changed();
}

void PlanGhost::makePlan() {
  if (!run_) return;
  planWork_.start([this, run = run_, number = ++asked_](const std::atomic<bool>& stop) {
    auto plan = std::make_shared<const PlannedSteps>(plannedStepsOf(run->run()));
    if (stop) return;
    QMetaObject::invokeMethod(
        this,
        [this, plan, number] {
          if (number != asked_) return;
          plan_ = plan;
          findSteps();
          emit changed();
        },
        Qt::QueuedConnection);
  });
}

std::vector<StepWindow> PlanGhost::stepsInView() const {
  std::vector<StepWindow> steps;
  const TimeAxis axis = chart_.view().axis;
  for (const StepSummary& step : run_->summary().steps) {
    if (step.begin < axis.end() && step.windowEnd > axis.begin()) steps.push_back(step);
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const StepWindow& a, const StepWindow& b) { return a.begin < b.begin; });
  return steps;
}

void PlanGhost::findSteps() {
  if (!isShown_ || !run_ || !plan_ || !plan_->exists() || chart_.model() == nullptr) return;
  std::vector<StepWindow> wanted = stepsInView();
  const std::size_t replicas = std::max<std::size_t>(1, run_->run().topology().replicas().size());
  if (wanted.size() > kMostSteps * replicas) wanted.clear();
  if (wanted == wanted_) return;
  wanted_ = wanted;
  stepsWork_.start([this, run = run_, plan = plan_, wanted,
                    number = ++askedSteps_](const std::atomic<bool>& stop) {
    auto steps = std::make_shared<std::vector<StepBesidePlan>>();
    for (const StepWindow& window : wanted) {
      if (stop) return;
      steps->push_back(besidePlan(*plan, run->run(), run->model(), window));
    }
    QMetaObject::invokeMethod(
        this,
        [this, steps, number] {
          if (number != askedSteps_) return;
          steps_ = steps;
          chart_.viewport()->update();
          emit changed();
        },
        Qt::QueuedConnection);
  });
}

const StepBesidePlan* PlanGhost::listedStep() const {
  if (steps_->empty()) return nullptr;
  const TimeAxis axis = chart_.view().axis;
  const Nanoseconds middle = axis.begin() + axis.span() / 2;
  const StepBesidePlan* listed = &steps_->front();
  for (const StepBesidePlan& step : *steps_) {
    if (step.step.begin <= middle) listed = &step;
  }
  return listed;
}

std::optional<PlanGhost::Twin> PlanGhost::twin() const {
  std::optional<EventSpot> job = hovered_;
  if (!job && chart_.selection()) {
    job = EventSpot{chart_.selection()->row, chart_.selection()->event};
  }
  if (!job || !plan_) return std::nullopt;
  for (const StepBesidePlan& step : *steps_) {
    const StepBesidePlan::Rank* const rank = step.rankOf(job->row);
    if (rank == nullptr || step.step.step != job->event->step) continue;
    for (std::size_t i = 0; i < rank->jobs.size(); ++i) {
      if (rank->jobs[i].event != job->event || rank->planned[i] == StepBesidePlan::kNone) continue;
      const PlannedJob& planned = plan_->positions[rank->position][rank->planned[i]];
      return Twin{*job, planned, step.step.begin + planned.begin};
    }
  }
  return std::nullopt;
}

QString PlanGhost::textOf(const Twin& twin) const {
  const Event& job = *twin.job.event;
  const Nanoseconds later = job.begin - twin.begin;
  const Nanoseconds longer = job.duration() - twin.planned.duration();
  return tr("planned at %1 of its step for %2: begins %3, lasts %4")
      .arg(lengthText(twin.planned.begin), lengthText(twin.planned.duration()),
           QString::fromStdString(signedTime(later)), QString::fromStdString(signedTime(longer)));
}

void PlanGhost::goTo(const EventSpot& job) {
  chart_.goTo({.row = job.row, .event = job.event, .count = 1, .load = {}, .span = 0});
}

bool PlanGhost::eventFilter(QObject* watched, QEvent* event) {
  const bool isMove = event->type() == QEvent::MouseMove;
  if (isShown_ && plan_ && (isMove || event->type() == QEvent::Leave)) {
    std::optional<EventSpot> hovered;
    if (isMove && chart_.model() != nullptr) {
      const QPoint at = static_cast<QMouseEvent*>(event)->position().toPoint();
      const auto hit = hitAt(chart_.view(), at.x(), at.y());
      if (hit && hit->count == 1) hovered = EventSpot{hit->row, hit->event};
    }
    const bool isSame = hovered.has_value() == hovered_.has_value() &&
                        (!hovered || hovered->event == hovered_->event);
    if (!isSame) {
      hovered_ = hovered;
      chart_.viewport()->update();
      emit changed();
    }
  }
  return QObject::eventFilter(watched, event);
}

}  // namespace pipetrace
