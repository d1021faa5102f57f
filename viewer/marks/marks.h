#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <vector>

#include "chart/marks/draw_marks.h"

namespace pipetrace {

/// The file of the marks of a run that is read from `inputs` (paths, at least one):
/// "NAME.pipetrace-notes.json" beside the first of them.
QString marksFile(const QStringList& inputs);

/// The marks of a run and their file. Times in the file count from the run's first event. Each
/// change is written at once; a list without marks has no file. On the GUI thread.
class Marks : public QObject {
  Q_OBJECT

 public:
  /// Takes the marks from `file`, where it is there. `origin`: when the run's first event begins.
  /// The marks of another run before are forgotten; their file stays.
  void open(const QString& file, Nanoseconds origin);

  const std::vector<ChartMark>& list() const { return list_; }
  /// Returns the index of the new mark; of one that is at the same place already its index.
  int add(ChartMark mark);
  void setText(int index, const QString& text);
  void remove(int index);

 signals:
  void changed();
  /// The file could not be read or written: a sentence that says why.
  void failed(const QString& problem);

 private:
  void save();

  QString file_;
  Nanoseconds origin_ = 0;
  std::vector<ChartMark> list_;  // by begin
  bool isReadable_ = true;       // else the file is not ours to replace
};

}  // namespace pipetrace
