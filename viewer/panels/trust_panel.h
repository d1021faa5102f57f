#pragma once

#include <QIcon>
#include <QListWidget>
#include <QStyle>
#include <QWidget>
#include <vector>

#include "analysis/run/doubts.h"
#include "trace/diagnostic.h"

namespace pipetrace {

/// What is to be known before figures of a run are believed: doubts, then warnings and notes on the
/// input, each with what to do next. Ctrl+C copies the chosen lines, or all of them.
class TrustPanel : public QWidget {
  Q_OBJECT

 public:
  TrustPanel();

  void show(const std::vector<Doubt>& doubts, const Diagnostics& diagnostics);

  /// "2 doubts, 1 warning, 6 notes"; empty if there is nothing to say.
  const QString& summary() const { return summary_; }
  /// The mark of the worst of them.
  QIcon icon() const;
  /// Whether there are doubts, warnings or errors.
  bool isGrave() const { return grave_ > 0; }

 public slots:
  void copy();

 private:
  void add(QStyle::StandardPixmap mark, const QString& kind, const QString& text,
           const QString& next, const QString& where);

  QListWidget* list_;
  QString summary_;
  std::size_t doubts_ = 0;
  std::size_t grave_ = 0;
};

}  // namespace pipetrace
