#include "viewer/panels/details_panel.h"

#include <QHeaderView>
#include <QVBoxLayout>

#include "trace/text/decimal_time.h"
#include "viewer/words/job_fields.h"

namespace pipetrace {

DetailsPanel::DetailsPanel(ChartWidget& chart)
    : chart_(chart),
      fields_(new QTreeWidget),
      goToCulprit_(new QPushButton(tr("Go to the culprit (C)"))),
      goBack_(new QPushButton(tr("Back to the bubble (Shift+C)"))) {
  fields_->setHeaderHidden(true);
  fields_->setColumnCount(2);
  fields_->setRootIsDecorated(false);
  fields_->setAlternatingRowColors(true);
  fields_->setFocusPolicy(Qt::ClickFocus);
  fields_->setAccessibleName(tr("Details of the selection"));
  fields_->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(fields_);
  for (QPushButton* button : {goToCulprit_, goBack_}) {
    button->setFocusPolicy(Qt::NoFocus);  // the chart keeps the keys
    column->addWidget(button);
  }
  connect(goToCulprit_, &QPushButton::clicked, &chart_, &ChartWidget::showCulprit);
  connect(goBack_, &QPushButton::clicked, &chart_, &ChartWidget::showBubble);
  connect(&chart_, &ChartWidget::selectionChanged, this, &DetailsPanel::update);
  update();
}

void DetailsPanel::update() {
  fields_->clear();
  summary_.clear();
  goToCulprit_->setVisible(chart_.culprit().has_value());
  goBack_->setVisible(chart_.hasBubble());
  const auto& selection = chart_.selection();
  if (!selection) {
    new QTreeWidgetItem(fields_, {tr("Click a job or a bubble to see what is known about it.")});
    fields_->setFirstColumnSpanned(0, {}, true);
    return;
  }
  const ChartModel& model = *chart_.model();
  for (const JobField& field : jobFields(model, model.rows()[selection->row], *selection->event)) {
    auto* item = new QTreeWidgetItem(fields_, {field.name, field.value});
    item->setToolTip(1, field.value.toHtmlEscaped());
  }
  summary_ = fields_->topLevelItem(0)->text(1) + ", " +
             QString::fromStdString(formatDuration(selection->event->duration()));
}

}  // namespace pipetrace
