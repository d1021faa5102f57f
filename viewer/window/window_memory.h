#pragma once

#include <QMainWindow>
#include <QSettings>
#include <QStringList>
#include <memory>
#include <optional>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// The memory of a window from one start of the program to the next: its place and its docks, and
/// for each input the part that was in view. On the GUI thread.
class WindowMemory {
 public:
  /// The part of a run that was in view. Times count from the run's first event.
  struct Seen {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    bool isWhole = false;
    int scroll = 0;  ///< pixels
  };
  static constexpr int kMostInputs = 200;

  /// Remembers nothing.
  WindowMemory() = default;
  /// Remembers in `settings`. `isFresh`: as if nothing had been remembered before.
  explicit WindowMemory(std::unique_ptr<QSettings> settings, bool isFresh = false)
      : settings_(std::move(settings)), isFresh_(isFresh) {}

  /// The settings of the user who runs the program.
  static std::unique_ptr<QSettings> usersSettings();

  QSettings* settings() const { return settings_.get(); }

  void savePlace(const QMainWindow& window);
  /// Gives the window its place on the screen of the last time.
  void restorePlace(QMainWindow& window) const;
  void saveDocks(const QMainWindow& window);
  /// Gives the window its docks of the last time.
  void restoreDocks(QMainWindow& window) const;

  /// `inputs`: absolute paths. The entry counts until one of them changes.
  void saveSeen(const QStringList& inputs, const Seen& seen);
  std::optional<Seen> seenOf(const QStringList& inputs) const;

  /// The changes in the panel of what-ifs (WhatIfPanel::text()); the entry counts as long as that
  /// of saveSeen().
  void saveWhatIf(const QStringList& inputs, const QString& changes);
  QString whatIfOf(const QStringList& inputs) const;

  /// The folder that the last picture went to; empty if there was none.
  QString exportFolder() const;
  void saveExportFolder(const QString& folder);
  /// ExportDialog::choices() of the last picture; empty if there was none.
  QStringList exportChoices() const;
  void saveExportChoices(const QStringList& choices);

 private:
  std::unique_ptr<QSettings> settings_;
  bool isFresh_ = false;
};

}  // namespace pipetrace
