#pragma once

#include <QHelpEvent>
#include <QLabel>
#include <QPainter>
#include <QStyle>
#include <QToolTip>

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

inline QSize ElidedLabel::minimumSizeHint() const {
  const QMargins margins = contentsMargins();
  return {margins.left() + margins.right() + fontMetrics().averageCharWidth() * 8,
          QLabel::minimumSizeHint().height()};
}

inline QString ElidedLabel::shownText() const {
  return fontMetrics().elidedText(text(), Qt::ElideRight, contentsRect().width());
}

inline bool ElidedLabel::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip && toolTip().isEmpty()) {
    const QString hidden = shownText() == text() ? QString() : text().toHtmlEscaped();
    QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), hidden, this);
    return true;
  }
  return QLabel::event(event);
}

inline void ElidedLabel::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  style()->drawItemText(&painter, contentsRect(), Qt::AlignLeft | Qt::AlignVCenter, palette(),
                        isEnabled(), shownText(), foregroundRole());
}

}  // namespace pipetrace
