#pragma once

#include <QTableWidget>
#include <vector>

#include "analysis/what_if/what_if.h"

namespace pipetrace {

/// The figures of a run beside the predicted ones: step, bubble ratio, the most activations of a
/// rank, and idle time by class, a step over all ranks of a pipeline.
class FiguresTable : public QTableWidget {
  Q_OBJECT

 public:
  struct Figures {
    const WhatIfFigures& of;
    const std::vector<double>& peaks;
    bool hasClasses = true;  ///< false: times by class are not known yet
  };

  FiguresTable();

  /// `beforeName`: what `before` is of, such as "simulated". Without `after` that column is empty.
  void show(const QString& beforeName, const Figures& before, const Figures* after, bool isOfWall,
            bool isInTokens);

 private:
  void setRow(int row, const QString& name, const QString& before, const QString& after,
              const QString& change);
};

/// "−12.30 %", "+0.50 %", "0.00 %".
QString changeText(double share);

}  // namespace pipetrace
