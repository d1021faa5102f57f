#include "viewer/panels/findings_panel.h"

#include <QHBoxLayout>
#include <QStyle>
#include <QVBoxLayout>

#include "analysis/present/finding_sentences.h"
#include "viewer/what_if/finding_change.h"
#include "viewer/words/option_words.h"

namespace pipetrace {

FindingsPanel::FindingsPanel(Causes& causes)
    : causes_(causes),
      list_(new QListWidget),
      place_(new QLabel),
      previous_(new QToolButton),
      next_(new QToolButton),
      whatIf_(new QToolButton) {
  list_->setAccessibleName(tr("Findings"));
  list_->setWordWrap(true);
  list_->setResizeMode(QListView::Adjust);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  list_->setAlternatingRowColors(true);
  list_->setFrameShape(QFrame::NoFrame);
  list_->setIconSize({16, 16});
  place_->setContentsMargins(6, 0, 6, 0);
  place_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  previous_->setArrowType(Qt::LeftArrow);
  previous_->setToolTip(tr("Previous place of this finding"));
  previous_->setAccessibleName(tr("Previous evidence"));
  next_->setArrowType(Qt::RightArrow);
  next_->setToolTip(tr("Next place of this finding"));
  next_->setAccessibleName(tr("Next evidence"));
  whatIf_->setText(tr("What if …"));
  whatIf_->setToolTip(tr("What the run would be without this finding"));
  auto* line = new QHBoxLayout;
  line->setContentsMargins(0, 0, 4, 2);
  line->addWidget(place_, 1);
  line->addWidget(whatIf_);
  line->addWidget(previous_);
  line->addWidget(next_);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(2);
  column->addWidget(list_, 1);
  column->addLayout(line);
  const auto isChosen = [this](QListWidgetItem* item) { choose(list_->row(item)); };
  connect(list_, &QListWidget::itemClicked, this, isChosen);
  connect(list_, &QListWidget::itemActivated, this, isChosen);
  connect(previous_, &QToolButton::clicked, this, [this] { showPlace(at_ - 1); });
  connect(next_, &QToolButton::clicked, this, [this] { showPlace(at_ + 1); });
  connect(whatIf_, &QToolButton::clicked, this, [this] {
    if (finding_ >= 0) emit changeWanted(*removals_[static_cast<std::size_t>(finding_)]);
  });
  showText(tr("Open a profile to see why its ranks are idle."));
}

void FindingsPanel::showText(const QString& text) {
  list_->clear();
  moreLine_ = -1;
  evidence_.clear();
  removals_.clear();
  finding_ = -1;
  addLine(text);
  updateButtons();
}

void FindingsPanel::addLine(const QString& text) {
  if (text.isEmpty()) return;
  auto* item = new QListWidgetItem(text, list_);
  item->setFlags(Qt::ItemIsEnabled);
}

void FindingsPanel::showWaiting(bool isLive) {
  showText(isLive ? tr("Causes are looked for once the run has ended.")
                  : tr("Looking for causes …"));
}

void FindingsPanel::showFailure() { showText(tr("No causes can be found in this profile.")); }

void FindingsPanel::showFindings() {
  areMinorShown_ = false;
  listFindings();
}

void FindingsPanel::listFindings() {
  const GraphPlaces* places = causes_.places();
  if (places == nullptr) return showFailure();
  const Explanation& run = places->explanation();
  list_->clear();
  evidence_.clear();
  removals_.clear();
  finding_ = -1;
  moreLine_ = -1;
  for (const Finding& finding : run.findings) {
    if (finding.isMinor && !areMinorShown_) continue;
    const bool isWarning = finding.severity != Severity::kNote;
    const QIcon icon = style()->standardIcon(isWarning ? QStyle::SP_MessageBoxWarning
                                                       : QStyle::SP_MessageBoxInformation);
    auto* item = new QListWidgetItem(icon,
                                     QStringLiteral("%1. %2")
                                         .arg(evidence_.size() + 1)
                                         .arg(QString::fromStdString(findingText(finding))),
                                     list_);
    evidence_.push_back(placesOfFinding(finding, *places));
    removals_.push_back(changeThatRemoves(finding));
    const QString remedy = withWhoseOptions(QString::fromStdString(remedyText(finding)));
    item->setToolTip(tr("Next: %1").arg(remedy) + '\n' +
                     (evidence_.back().empty() ? tr("It has no place of its own in the chart")
                                               : tr("Click to see it in the chart")));
  }
  Nanoseconds idle = 0;
  for (const ExplainedRank& rank : run.ranks) idle += rank.idle;
  if (evidence_.empty()) addLine(QString::fromUtf8(noFindingsText(idle)));
  const QString more = QString::fromStdString(minorFindingsText(run.findings));
  if (!more.isEmpty()) {
    moreLine_ = list_->count();
    addLine(areMinorShown_ ? tr("fewer causes") : more);
    list_->item(moreLine_)->setIcon(
        style()->standardIcon(areMinorShown_ ? QStyle::SP_ArrowUp : QStyle::SP_ArrowDown));
    list_->item(moreLine_)->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
    list_->item(moreLine_)->setToolTip(areMinorShown_ ? tr("Lists the main causes alone")
                                                      : tr("Click to list them"));
  }
  addLine(QString::fromStdString(run.counted.leftOutText()));
  list_->setCurrentRow(0, QItemSelectionModel::NoUpdate);
  updateButtons();
}

void FindingsPanel::choose(int line) {
  if (line >= 0 && line == moreLine_) {
    const int first = moreLine_;
    areMinorShown_ = !areMinorShown_;
    listFindings();
    const int current = areMinorShown_ ? first : moreLine_;
    list_->setCurrentRow(current);
    list_->scrollToItem(list_->item(current));
    return;
  }
  const int finding = line;
  if (finding < 0 || static_cast<std::size_t>(finding) >= evidence_.size()) return;
  finding_ = finding;
  showPlace(0);
}

void FindingsPanel::showPlace(int place) {
  at_ = place;
  updateButtons();
  if (finding_ < 0) return;
  const auto& places = evidence_[static_cast<std::size_t>(finding_)];
  if (place < 0 || static_cast<std::size_t>(place) >= places.size()) return;
  causes_.goTo(places[static_cast<std::size_t>(place)].spot);
}

void FindingsPanel::updateButtons() {
  const int count =
      finding_ < 0 ? 0 : static_cast<int>(evidence_[static_cast<std::size_t>(finding_)].size());
  previous_->setEnabled(at_ > 0 && at_ <= count);
  next_->setEnabled(at_ + 1 < count);
  whatIf_->setEnabled(finding_ >= 0 && removals_[static_cast<std::size_t>(finding_)]);
  if (finding_ < 0) {
    place_->setText(evidence_.empty() ? QString() : tr("Click a finding to see it in the chart."));
  } else if (count == 0) {
    place_->setText(tr("This finding has no place of its own in the chart."));
  } else {
    const auto& places = evidence_[static_cast<std::size_t>(finding_)];
    place_->setText(tr("%1 of %2: %3")
                        .arg(at_ + 1)
                        .arg(count)
                        .arg(places[static_cast<std::size_t>(at_)].words));
  }
}

}  // namespace pipetrace
