#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <functional>

namespace pipetrace {

/// Goes on with a movement for as long as its key is held, frame by frame. The repeats of a
/// keyboard are too few and too late for the eye. On the GUI thread.
class HeldKeys : public QObject {
  Q_OBJECT

 public:
  explicit HeldKeys(QObject* parent);

  /// Call it when a key's command has made its first step. `move` gets the seconds since it was
  /// called last, until the key is released. A command that did not come from a key ends there.
  void holdOn(std::function<void(double seconds)> move);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void step();
  void stop();

  std::function<void(double)> move_;
  QTimer frames_;
  QElapsedTimer held_;
  qint64 movedAt_ = 0;  // ms of held_
  bool isDown_ = false;
};

}  // namespace pipetrace
