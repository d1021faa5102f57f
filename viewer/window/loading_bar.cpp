#include "viewer/window/loading_bar.h"

#include <QKeyEvent>
#include <QVBoxLayout>
#include <algorithm>

namespace pipetrace {
namespace {

constexpr int kRefresh = 100;  // milliseconds
constexpr int kThousandths = 1000;

QString megabytes(std::int64_t bytes) {
  return QString::number(static_cast<double>(bytes) / 1e6, 'f', 1);
}

}  // namespace

LoadingBar::LoadingBar(const ProfileLoader& loader, QWidget* parent)
    : QWidget(parent),
      loader_(loader),
      bar_(new QProgressBar),
      text_(new QLabel),
      cancel_(new QPushButton(tr("Cancel"))) {
  bar_->setTextVisible(false);
  bar_->setFixedWidth(320);
  bar_->setAccessibleName(tr("Loading progress"));
  text_->setAlignment(Qt::AlignCenter);
  cancel_->setToolTip(tr("Stop loading (Esc)"));
  connect(cancel_, &QPushButton::clicked, this, &LoadingBar::cancelled);
  connect(&timer_, &QTimer::timeout, this, &LoadingBar::look);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(bar_, 0, Qt::AlignHCenter);
  column->addWidget(text_);
  column->addSpacing(8);
  column->addWidget(cancel_, 0, Qt::AlignHCenter);
}

void LoadingBar::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  look();
  timer_.start(kRefresh);
  cancel_->setFocus();  // so that the keyboard reaches this
}

void LoadingBar::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  timer_.stop();
}

void LoadingBar::keyPressEvent(QKeyEvent* event) {
  if (event->key() != Qt::Key_Escape) return QWidget::keyPressEvent(event);
  emit cancelled();
}

void LoadingBar::look() {
  const ProfileLoader::Progress progress = loader_.progress();
  const bool isReading = progress.stage == LoadStage::kReading;
  // Bytes that are looked at twice count twice.
  const std::int64_t read = std::min(progress.bytesRead, progress.bytesInAll);
  if (isReading && read > 0 && read < progress.bytesInAll) {
    bar_->setRange(0, kThousandths);
    bar_->setValue(static_cast<int>(read * kThousandths / progress.bytesInAll));
    text_->setText(tr("Reading: %1 of %2 MB").arg(megabytes(read), megabytes(progress.bytesInAll)));
    return;
  }
  bar_->setRange(0, 0);  // busy, without a known end
  if (!loader_.isBusy()) {
    text_->clear();  // it waits for a run that goes on
  } else if (!isReading) {
    text_->setText(tr("Finding the causes of idle time"));
  } else {
    text_->setText(read > 0 ? tr("Indexing the jobs") : tr("Looking for files"));
  }
}

}  // namespace pipetrace
