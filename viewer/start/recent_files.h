#pragma once

#include <QDateTime>
#include <QList>
#include <QObject>
#include <QSettings>
#include <QStringList>

namespace pipetrace {

/// The inputs that were opened last, the latest first, kept in settings from one start to the next.
/// On the GUI thread.
class RecentFiles : public QObject {
  Q_OBJECT

 public:
  static constexpr int kMost = 15;

  /// `settings`: where the list is kept; null: nowhere. Must outlive the object.
  explicit RecentFiles(QSettings* settings, QObject* parent = nullptr);

  /// Each entry is what was opened together: absolute paths of files or folders.
  const QList<QStringList>& entries() const { return entries_; }

  /// Puts the inputs at the top.
  void add(const QStringList& inputs);
  void remove(const QStringList& inputs);
  void clear();

 signals:
  void changed();

 private:
  void save();

  QSettings* settings_;
  QList<QStringList> entries_;
};

/// Facts of the file system about some inputs.
struct InputFacts {
  bool isThere = false;  ///< all of them
  QDateTime changed;     ///< the latest change of a file; of a folder, of a file in it
  qint64 size = 0;       ///< bytes of all files; of a folder, of the files in it
};

/// Looks at the files; of a folder, at its own files and not at those of folders in it.
InputFacts factsOf(const QStringList& inputs);

/// "logs", or "logs and 2 more".
QString shortNameOf(const QStringList& inputs);

/// The paths, absolute and clean.
QStringList absolutePaths(const QStringList& inputs);

}  // namespace pipetrace
