#pragma once

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QTimer>
#include <QWidget>

#include "viewer/run/profile_loader.h"

namespace pipetrace {

/// How far a profile is read, and a button (also Esc) to give it up. It looks at the loader while
/// it is visible.
class LoadingBar : public QWidget {
  Q_OBJECT

 public:
  /// The loader must outlive it.
  explicit LoadingBar(const ProfileLoader& loader, QWidget* parent = nullptr);

 signals:
  void cancelled();

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void look();

  const ProfileLoader& loader_;
  QProgressBar* bar_;
  QLabel* text_;
  QPushButton* cancel_;
  QTimer timer_;
};

}  // namespace pipetrace
