#include "viewer/compare/compare_panel.h"

#include <QHBoxLayout>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>

#include "viewer/compare/tints.h"

namespace pipetrace {
namespace {

QListWidget* addList(const QString& name) {
  auto* list = new QListWidget;
  list->setAccessibleName(name);
  list->setWordWrap(true);
  list->setResizeMode(QListView::Adjust);
  list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  list->setAlternatingRowColors(true);
  list->setFrameShape(QFrame::NoFrame);
  return list;
}

}  // namespace

ComparePanel::ComparePanel(ComparePane& pane)
    : pane_(pane),
      sentences_(addList(tr("What explains the difference"))),
      jobs_(addList(tr("Jobs that differ most"))),
      place_(new QLabel),
      previous_(new QToolButton),
      next_(new QToolButton) {
  jobs_->setIconSize({12, 12});
  place_->setContentsMargins(6, 0, 6, 0);
  place_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  previous_->setArrowType(Qt::LeftArrow);
  previous_->setToolTip(tr("The longer difference before"));
  previous_->setAccessibleName(tr("Previous difference"));
  next_->setArrowType(Qt::RightArrow);
  next_->setToolTip(tr("The next longest difference"));
  next_->setAccessibleName(tr("Next difference"));
  auto* lists = new QSplitter(Qt::Horizontal);
  lists->addWidget(sentences_);
  lists->addWidget(jobs_);
  lists->setStretchFactor(0, 3);
  lists->setStretchFactor(1, 2);
  auto* line = new QHBoxLayout;
  line->setContentsMargins(0, 0, 4, 2);
  line->addWidget(place_, 1);
  line->addWidget(previous_);
  line->addWidget(next_);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(2);
  column->addWidget(lists, 1);
  column->addLayout(line);
  const auto go = [this](QListWidgetItem* item) { pane_.goToDifference(jobs_->row(item)); };
  connect(jobs_, &QListWidget::itemClicked, this, go);
  connect(jobs_, &QListWidget::itemActivated, this, go);
  connect(previous_, &QToolButton::clicked, &pane_, &ComparePane::goToPreviousDifference);
  connect(next_, &QToolButton::clicked, &pane_, &ComparePane::goToNextDifference);
  connect(&pane_, &ComparePane::changed, this, &ComparePanel::update);
  update();
}

void ComparePanel::update() {
  const RunComparison& comparison = pane_.comparison();
  if (!isFilled_ || comparison.result() != shownResult_ || comparison.twins() != shownTwins_ ||
      comparison.result() == nullptr) {
    isFilled_ = true;
    shownResult_ = comparison.result();
    shownTwins_ = comparison.twins();
    fillSentences();
    fillJobs();
  }
  const auto at = pane_.differenceAt();
  const std::size_t count = shownTwins_ == nullptr ? 0 : shownTwins_->byDifference().size();
  previous_->setEnabled(at && *at > 0);
  next_->setEnabled(count > 0 && (!at || *at + 1 < count));
  const QString text = pane_.selectionText();
  if (at) {
    place_->setText(tr("%1 of %2: %3").arg(*at + 1).arg(count).arg(text));
    if (*at < static_cast<std::size_t>(jobs_->count())) {
      jobs_->setCurrentRow(static_cast<int>(*at));
    }
  } else {
    place_->setText(!text.isEmpty() ? text
                    : count > 0     ? tr("X goes to the longest difference of a job.")
                                    : QString());
    jobs_->setCurrentItem(nullptr);
  }
}

void ComparePanel::fillSentences() {
  sentences_->clear();
  const auto add = [this](const QString& text) {
    auto* item = new QListWidgetItem(text, sentences_);
    item->setFlags(Qt::ItemIsEnabled);
    return item;
  };
  using Stage = RunComparison::Stage;
  const Stage stage = pane_.comparison().stage();
  if (stage == Stage::kNone) {
    add(tr("File › Compare with … puts a second run under this one."));
  } else if (stage == Stage::kReading) {
    add(tr("Reading the second run …"));
  } else if (shownResult_ == nullptr) {
    add(tr("Comparing …"));
  } else {
    for (const QString& sentence : shownResult_->sentences) {
      QListWidgetItem* const item = add(sentence);
      if (sentences_->count() > 1) continue;
      QFont bold = item->font();
      bold.setBold(true);
      item->setFont(bold);
    }
  }
  if (shownTwins_ == nullptr) return;
  for (const std::string& sentence : shownTwins_->unmatched()) {
    add(QString::fromStdString(sentence));
  }
}

void ComparePanel::fillJobs() {
  jobs_->clear();
  if (shownTwins_ == nullptr) return;
  const auto& all = shownTwins_->byDifference();
  for (std::size_t i = 0; i < std::min(all.size(), kMostJobs); ++i) {
    const JobTwins::Twins& twins = shownTwins_->twins()[all[i]];
    QPixmap tint(12, 12);
    tint.fill(tintOf(pane_.comparison().a()->model().theme(), twins.difference(),
                     shownTwins_->longestDifference()));
    new QListWidgetItem(tint, pane_.textOf(twins), jobs_);
  }
  if (!all.empty()) return;
  auto* none = new QListWidgetItem(shownTwins_->matchedCount() > 0
                                       ? tr("All jobs of these steps take as long in both runs.")
                                       : tr("No job of these steps is in both runs."),
                                   jobs_);
  none->setFlags(Qt::ItemIsEnabled);
}

}  // namespace pipetrace
