#include "viewer/plan/plan_panel.h"

#include <QVBoxLayout>
#include <algorithm>

#include "analysis/present/diff_reasons.h"
#include "trace/text/number_text.h"
#include "viewer/words/job_fields.h"

namespace pipetrace {

PlanPanel::PlanPanel(PlanGhost& ghost) : ghost_(ghost), list_(new QListWidget), twin_(new QLabel) {
  list_->setAccessibleName(tr("What is not as planned"));
  list_->setWordWrap(true);
  list_->setResizeMode(QListView::Adjust);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  list_->setAlternatingRowColors(true);
  list_->setFrameShape(QFrame::NoFrame);
  twin_->setContentsMargins(6, 0, 6, 2);
  twin_->setTextFormat(Qt::PlainText);
  twin_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(2);
  column->addWidget(list_, 1);
  column->addWidget(twin_);
  const auto go = [this](QListWidgetItem* item) {
    const auto line = static_cast<std::size_t>(list_->row(item));
    if (line < jobs_.size() && jobs_[line].event != nullptr) ghost_.goTo(jobs_[line]);
  };
  connect(list_, &QListWidget::itemClicked, this, go);
  connect(list_, &QListWidget::itemActivated, this, go);
  connect(&ghost_, &PlanGhost::changed, this, &PlanPanel::update);
  update();
}

void PlanPanel::addLine(const QString& text) {
  auto* item = new QListWidgetItem(text, list_);
  item->setFlags(Qt::ItemIsEnabled);
  jobs_.push_back({});
}

void PlanPanel::update() {
  const auto twin = ghost_.isShown() ? ghost_.twin() : std::nullopt;
  twin_->setText(twin ? ghost_.textOf(*twin) : QString());
  const PlannedSteps* const plan = ghost_.plan();
  const StepBesidePlan* const step =
      plan != nullptr && ghost_.isShown() ? ghost_.listedStep() : nullptr;
  const bool isSame = step == shown_ && plan == shownPlan_ && ghost_.isShown() == wasShown_;
  if (isSame && step != nullptr) return;
  shown_ = step;
  shownPlan_ = plan;
  wasShown_ = ghost_.isShown();
  list_->clear();
  jobs_.clear();
  if (!ghost_.isShown()) return addLine(tr("G shows the plan under each rank."));
  if (plan == nullptr) {
    return addLine(ghost_.hasRun()
                       ? tr("Making the plan …")
                       : tr("The plan is made once the causes of idle time are known."));
  }
  if (!plan->exists()) {
    return addLine(tr("There is no plan to show: %1.").arg(QString::fromStdString(plan->problem)));
  }
  addLine(tr("%1 with the median times of the run (%2): %3 from the first to the last job of a "
             "step")
              .arg(QString::fromStdString(plan->schedule), QString::fromStdString(plan->source),
                   lengthText(plan->length)));
  if (step == nullptr) {
    return addLine(tr("Zoom in to a few steps to see what is not as planned in them."));
  }
  fill(*step);
}

void PlanPanel::fill(const StepBesidePlan& step) {
  Nanoseconds last = step.step.begin;
  std::size_t extra = 0;
  std::size_t missing = 0;
  for (const StepBesidePlan::Rank& rank : step.ranks) {
    for (const EventSpot& job : rank.jobs) last = std::max(last, job.event->end);
    extra += static_cast<std::size_t>(
        std::count(rank.planned.begin(), rank.planned.end(), StepBesidePlan::kNone));
    missing += rank.missing.size();
  }
  const Nanoseconds took = last - step.step.begin;
  addLine(
      tr("step %1 took %2, %3 beside the plan")
          .arg(step.step.step)
          .arg(lengthText(took), QString::fromStdString(signedTime(took - ghost_.plan()->length))));
  if (missing > 0) {
    addLine(tr("%1 that are planned did not run")
                .arg(QString::fromStdString(countText(missing, "job"))));
  }
  if (extra > 0) {
    addLine(tr("%1 ran that the plan does not have")
                .arg(QString::fromStdString(countText(extra, "job"))));
  }
  if (step.deviations.empty()) {
    addLine(tr("All jobs are as planned in their order, begins and lengths, to a tenth of a job."));
  }
  const std::size_t shown = std::min(step.deviations.size(), kMostLines);
  for (std::size_t i = 0; i < shown; ++i) {
    const Deviation& deviation = step.deviations[i];
    new QListWidgetItem(
        QString::fromStdString(textOf(deviation, *ghost_.plan(), step, *ghost_.model())), list_);
    jobs_.push_back(deviation.job);
  }
  if (shown < step.deviations.size()) {
    addLine(tr("and %1 more").arg(step.deviations.size() - shown));
  }
}

}  // namespace pipetrace
