#include "viewer/what_if/predicted_chart.h"

#include <QHBoxLayout>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "chart/colors/difference_color.h"
#include "viewer/paint/qt_canvas.h"

namespace pipetrace {
namespace {

/// Tints the jobs that moved: a veil, the stronger the further, and a band at their foot.
class MovedOverlay : public ChartOverlay {
 public:
  explicit MovedOverlay(const PredictedChart& chart) : chart_(chart) {}

  void paint(QPainter& painter, const ChartView& view) override {
    const PredictedRun* const run = chart_.run();
    if (run == nullptr || run->mostMoved() == 0) return;
    for (const RowInView& row : view.rowsInView()) {
      if (!row.row->showsLanes()) continue;
      const ChartRow& lane = view.model.rows()[row.row->row];
      if (!lane.isCompute) continue;
      const PixelRect clip = view.clipOf(row.isPinned);
      painter.setClipRect(clip.x, clip.y, clip.width, clip.height);
      paintRow(painter, view, run->movedOf(lane.rank), row.place);
    }
  }

 private:
  void paintRow(QPainter& painter, const ChartView& view, const std::vector<MovedJob>& jobs,
                const RowPlace& place) const {
    const Nanoseconds from = view.axis.begin();
    auto job = std::partition_point(jobs.begin(), jobs.end(),
                                    [&](const MovedJob& each) { return each.end < from; });
    const double most = static_cast<double>(chart_.run()->mostMoved());
    const int band = std::clamp(place.height / 4, 2, 6);
    int covered = view.area.x;  // up to there
    for (; job != jobs.end() && job->begin < view.axis.end(); ++job) {
      const int left = std::max(view.xOf(job->begin), covered);
      const int right = std::max(view.xOf(job->end), view.xOf(job->begin) + 1);
      if (right <= left) continue;
      covered = right;
      QColor color = toQColor(differenceColor(view.model.theme(), job->later > 0));
      const double share = static_cast<double>(std::abs(job->later)) / most;
      color.setAlphaF(static_cast<float>(0.06 + 0.22 * share));
      painter.fillRect(left, place.top, right - left, place.height - band, color);
      color.setAlphaF(static_cast<float>(0.45 + 0.55 * share));
      painter.fillRect(left, place.top + place.height - band, right - left, band, color);
    }
  }

  const PredictedChart& chart_;
};

}  // namespace

PredictedChart::PredictedChart(ChartStack& charts)
    : charts_(charts),
      measured_(charts.main()),
      chart_(new ChartWidget(nullptr, ChartRole::kUnder)),
      words_(new QLabel),
      colors_(new QLabel) {
  chart_->setAccessibleName(tr("Predicted chart"));
  chart_->setMinimumSize(360, 80);
  chart_->addOverlay(std::make_unique<MovedOverlay>(*this));
  words_->setTextFormat(Qt::PlainText);
  words_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  words_->setAccessibleName(tr("Prediction"));
  colors_->setTextFormat(Qt::RichText);
  auto* line = new QHBoxLayout;
  line->setContentsMargins(ChartWidget::kMargin, 3, ChartWidget::kMargin, 0);
  line->addWidget(words_, 1);
  line->addWidget(colors_);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addLayout(line);
  column->addWidget(chart_, 1);
  charts_.add(*this);
}

PredictedChart::~PredictedChart() {
  chart_->setModel(nullptr);  // before the prediction goes
}

QString PredictedChart::words() const { return words_->text(); }

void PredictedChart::show(std::shared_ptr<const PredictedRun> run, const QString& words,
                          bool isPreview) {
  words_->setText(words);
  words_->setToolTip(words);
  QFont font = words_->font();
  font.setItalic(isPreview);
  words_->setFont(font);
  if (run == run_) return;
  const std::shared_ptr<const PredictedRun> before = std::exchange(run_, std::move(run));
  if (measured_.model() == nullptr) run_.reset();
  if (run_ != nullptr) run_->setTheme(measured_.model()->theme());
  place();
  updateTheme();
}

void PredictedChart::setUsed(bool isUsed) {
  if (std::exchange(isUsed_, isUsed) != isUsed) place();
}

void PredictedChart::place() {
  const bool isSeen = isUsed_ && run_ != nullptr;
  setVisible(isSeen);
  if (!isSeen) return charts_.clear(*chart_);
  charts_.show(*chart_, run_->model(), [this] { return offset(); });
}

void PredictedChart::updateTheme() {
  if (!run_ || measured_.model() == nullptr) return;
  const Theme& theme = measured_.model()->theme();
  if (!(run_->model().theme() == theme)) {
    run_->setTheme(theme);
    chart_->redraw();
  }
  const auto square = [&](bool isLater, const QString& text) {
    return QStringLiteral("<span style='color:%1'>■</span> %2")
        .arg(toQColor(differenceColor(theme, isLater)).name(), text);
  };
  colors_->setText(square(false, tr("sooner")) + QStringLiteral("&nbsp; ") +
                   square(true, tr("later")));
}

Nanoseconds PredictedChart::offset() const {
  const TimeAxis axis = measured_.view().axis;
  const Nanoseconds middle = axis.begin() + axis.span() / 2;
  const std::vector<StepSpan>& steps = measured_.model()->steps();
  if (steps.empty()) return run_->model().span().begin - measured_.model()->span().begin;
  auto step = std::partition_point(steps.begin(), steps.end(),
                                   [&](const StepSpan& each) { return each.begin <= middle; });
  if (step != steps.begin()) --step;
  return run_->beginBeside(step->step) - step->begin;
}

}  // namespace pipetrace
