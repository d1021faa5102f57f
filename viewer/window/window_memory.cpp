#include "viewer/window/window_memory.h"

#include <QCryptographicHash>
#include <QFileInfo>

#include "viewer/start/recent_files.h"

namespace pipetrace {
namespace {

constexpr const char* kGeometry = "window/geometry";
constexpr const char* kDocks = "window/docks";
constexpr const char* kExports = "window/exports";
constexpr const char* kExportChoices = "window/exportChoices";
constexpr const char* kSeenList = "seen/list";
constexpr int kDocksVersion = 2;

/// A name for inputs as they are now: another one when a file has changed.
QString keyOf(const QStringList& inputs) {
  const InputFacts facts = factsOf(inputs);
  const QString text =
      inputs.join('\n') + "\n" + QString::number(facts.changed.toMSecsSinceEpoch());
  return QString::fromLatin1(
      QCryptographicHash::hash(text.toUtf8(), QCryptographicHash::Sha1).toHex());
}

}  // namespace

std::unique_ptr<QSettings> WindowMemory::usersSettings() {
  return std::make_unique<QSettings>(QStringLiteral("PipeTrace"), QStringLiteral("pipe-view"));
}

void WindowMemory::savePlace(const QMainWindow& window) {
  if (settings_) settings_->setValue(kGeometry, window.saveGeometry());
}

void WindowMemory::restorePlace(QMainWindow& window) const {
  if (!settings_ || isFresh_) return;
  window.restoreGeometry(settings_->value(kGeometry).toByteArray());
}

void WindowMemory::saveDocks(const QMainWindow& window) {
  if (settings_) settings_->setValue(kDocks, window.saveState(kDocksVersion));
}

void WindowMemory::restoreDocks(QMainWindow& window) const {
  if (!settings_ || isFresh_) return;
  window.restoreState(settings_->value(kDocks).toByteArray(), kDocksVersion);
}

void WindowMemory::saveSeen(const QStringList& inputs, const Seen& seen) {
  if (!settings_ || inputs.isEmpty()) return;
  const QString key = keyOf(inputs);
  QStringList keys = settings_->value(kSeenList).toStringList();
  keys.removeAll(key);
  keys.prepend(key);
  while (keys.size() > kMostInputs) {
    settings_->remove("seen/" + keys.last());
    settings_->remove("what_if/" + keys.takeLast());
  }
  settings_->setValue(kSeenList, keys);
  settings_->setValue(
      "seen/" + key,
      QStringList{QString::number(seen.begin), QString::number(seen.end),
                  QString::number(seen.isWhole ? 1 : 0), QString::number(seen.scroll)});
}

std::optional<WindowMemory::Seen> WindowMemory::seenOf(const QStringList& inputs) const {
  if (!settings_ || isFresh_ || inputs.isEmpty()) return std::nullopt;
  const QStringList values = settings_->value("seen/" + keyOf(inputs)).toStringList();
  if (values.size() != 4) return std::nullopt;
  const Seen seen{values[0].toLongLong(), values[1].toLongLong(), values[2].toInt() != 0,
                  values[3].toInt()};
  if (seen.end <= seen.begin) return std::nullopt;
  return seen;
}

void WindowMemory::saveWhatIf(const QStringList& inputs, const QString& changes) {
  if (!settings_ || inputs.isEmpty()) return;
  const QString key = "what_if/" + keyOf(inputs);
  if (changes.isEmpty()) return settings_->remove(key);
  settings_->setValue(key, changes);
}

QString WindowMemory::whatIfOf(const QStringList& inputs) const {
  if (!settings_ || isFresh_ || inputs.isEmpty()) return {};
  return settings_->value("what_if/" + keyOf(inputs)).toString();
}

QString WindowMemory::exportFolder() const {
  return settings_ ? settings_->value(kExports).toString() : QString();
}

QStringList WindowMemory::exportChoices() const {
  return settings_ ? settings_->value(kExportChoices).toStringList() : QStringList();
}

void WindowMemory::saveExportChoices(const QStringList& choices) {
  if (settings_) settings_->setValue(kExportChoices, choices);
}

void WindowMemory::saveExportFolder(const QString& folder) {
  if (settings_) settings_->setValue(kExports, folder);
}

}  // namespace pipetrace
