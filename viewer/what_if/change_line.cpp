#include "viewer/what_if/change_line.h"

#include <QHBoxLayout>
#include <QSignalBlocker>
#include <algorithm>
#include <cmath>

#include "schedule/scale/scale_option.h"

namespace pipetrace {
namespace {

// The slider is logarithmic, from a quarter to four times.
constexpr int kDoubling = 100;
constexpr int kMost = 2 * kDoubling;
constexpr double kLeastPercent = 0.01;
constexpr double kMostPercent = 100'000;

int positionOf(double percent) {
  if (percent <= 0) return -kMost;
  return std::clamp(static_cast<int>(std::lround(kDoubling * std::log2(percent / 100))), -kMost,
                    kMost);
}

/// Whole percents, so that command lines stay short.
double percentAt(int position) {
  return std::round(100 * std::exp2(static_cast<double>(position) / kDoubling));
}

}  // namespace

ChangeLine::ChangeLine(const QString& what, bool mayBeZero)
    : names_(new QComboBox),
      slider_(new QSlider(Qt::Horizontal)),
      field_(new QDoubleSpinBox),
      reset_(new QToolButton) {
  names_->setAccessibleName(what);
  names_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  names_->setMinimumContentsLength(6);
  slider_->setAccessibleName(tr("%1: time in percent, slider").arg(what));
  slider_->setRange(-kMost, kMost);
  slider_->setTickInterval(kDoubling);
  slider_->setTickPosition(QSlider::TicksBelow);
  slider_->setPageStep(kDoubling / 4);
  slider_->setMinimumWidth(60);
  slider_->setToolTip(
      tr("Its time: in the middle as measured, at the marks half, a quarter, twice, "
         "four times"));
  field_->setAccessibleName(tr("%1: time in percent").arg(what));
  field_->setRange(mayBeZero ? 0 : kLeastPercent, kMostPercent);
  field_->setDecimals(2);
  field_->setSuffix(tr(" %"));
  field_->setKeyboardTracking(false);
  field_->setStepType(QAbstractSpinBox::DefaultStepType);
  field_->setButtonSymbols(QAbstractSpinBox::NoButtons);
  field_->setAlignment(Qt::AlignRight);
  field_->setFixedWidth(fontMetrics().horizontalAdvance(QStringLiteral("1000.00 %")) + 18);
  reset_->setText(QString::fromUtf8("↺"));
  reset_->setAutoRaise(true);
  reset_->setToolTip(tr("As measured"));
  reset_->setAccessibleName(tr("%1: as measured").arg(what));
  auto* line = new QHBoxLayout(this);
  line->setContentsMargins(0, 0, 0, 0);
  line->setSpacing(4);
  line->addWidget(names_, 2);
  line->addWidget(slider_, 3);
  line->addWidget(field_);
  line->addWidget(reset_);
  connect(names_, &QComboBox::currentIndexChanged, this, [this](int index) {
    if (index >= 0) emit chosen();
  });
  connect(slider_, &QSlider::valueChanged, this, [this](int position) {
    if (!isShowing_) change(percentAt(position));
  });
  connect(slider_, &QSlider::sliderReleased, this, &ChangeLine::released);
  connect(field_, &QDoubleSpinBox::valueChanged, this, [this](double percent) {
    if (!isShowing_) change(percent);
  });
  connect(reset_, &QToolButton::clicked, this, [this] { change(100); });
  show(ScaleOption::kOne);
}

void ChangeLine::setNames(const QStringList& names) {
  const QSignalBlocker quiet(names_);
  const int before = names_->currentIndex();
  names_->clear();
  names_->addItems(names);
  names_->setCurrentIndex(before >= 0 && before < names.size() ? before : 0);
}

void ChangeLine::show(Factor factor) {
  isShowing_ = true;
  const double percent = static_cast<double>(factor) * 100 / ScaleOption::kOne;
  if (!slider_->isSliderDown()) slider_->setValue(positionOf(percent));
  field_->setValue(percent);
  reset_->setEnabled(factor != ScaleOption::kOne);
  isShowing_ = false;
}

ChangeLine::Factor ChangeLine::factor() const {
  return std::llround(field_->value() / 100 * ScaleOption::kOne);
}

void ChangeLine::change(double percent) {
  const Factor factor = std::llround(percent / 100 * ScaleOption::kOne);
  show(factor);
  emit changed(factor);
}

}  // namespace pipetrace
