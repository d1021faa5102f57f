#pragma once

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QSlider>
#include <QToolButton>
#include <QWidget>

#include "viewer/what_if/changes.h"

namespace pipetrace {

/// A factor for one of several things, such as a stage: which one, a slider and a field in percent
/// of its measured time, and a button that takes the change back. The slider doubles or halves at
/// its marks.
class ChangeLine : public QWidget {
  Q_OBJECT

 public:
  using Factor = WhatIfChanges::Factor;

  /// `what`: "Stage", for accessible names. `mayBeZero`: the time may go away.
  ChangeLine(const QString& what, bool mayBeZero);

  /// The things that can be chosen. The choice stays where it can.
  void setNames(const QStringList& names);
  int current() const { return names_->currentIndex(); }
  void choose(int index) { names_->setCurrentIndex(index); }
  /// Shows a factor, without a signal.
  void show(Factor factor);
  Factor factor() const;
  /// Whether the slider is held: the change goes on.
  bool isHeld() const { return slider_->isSliderDown(); }
  QSlider& slider() const { return *slider_; }
  QDoubleSpinBox& field() const { return *field_; }
  QComboBox& names() const { return *names_; }
  QToolButton& reset() const { return *reset_; }

 signals:
  /// Another thing was chosen.
  void chosen();
  void changed(qint64 factor);
  void released();

 private:
  void change(double percent);

  QComboBox* names_;
  QSlider* slider_;
  QDoubleSpinBox* field_;
  QToolButton* reset_;
  bool isShowing_ = false;
};

}  // namespace pipetrace
