#pragma once

#include <QLabel>

namespace pipetrace {

/// A line of plain text that ends in an ellipsis where it is wider than its place. It never makes a
/// window wider. The whole text is its tooltip while a part is hidden.
class ElidedLabel : public QLabel {
  Q_OBJECT

 public:
  using QLabel::QLabel;

  QSize minimumSizeHint() const override;
  /// The text as it is shown, with its ellipsis.
  QString shownText() const;

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace pipetrace
