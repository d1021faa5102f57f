#include "viewer/start/recent_files.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <algorithm>

namespace pipetrace {
namespace {

constexpr const char* kList = "recent";
constexpr const char* kPaths = "paths";
constexpr int kMostFilesLookedAt = 2000;  // in a folder

}  // namespace

RecentFiles::RecentFiles(QSettings* settings, QObject* parent)
    : QObject(parent), settings_(settings) {
  if (settings_ == nullptr) return;
  const int count = std::min(settings_->beginReadArray(kList), kMost);
  for (int i = 0; i < count; ++i) {
    settings_->setArrayIndex(i);
    const QStringList paths = settings_->value(kPaths).toStringList();
    if (!paths.isEmpty()) entries_.push_back(paths);
  }
  settings_->endArray();
}

void RecentFiles::add(const QStringList& inputs) {
  const QStringList paths = absolutePaths(inputs);
  if (paths.isEmpty()) return;
  entries_.removeAll(paths);
  entries_.prepend(paths);
  if (entries_.size() > kMost) entries_.resize(kMost);
  save();
}

void RecentFiles::remove(const QStringList& inputs) {
  if (entries_.removeAll(inputs) > 0) save();
}

void RecentFiles::clear() {
  if (entries_.isEmpty()) return;
  entries_.clear();
  save();
}

void RecentFiles::save() {
  if (settings_ != nullptr) {
    settings_->remove(kList);
    settings_->beginWriteArray(kList, static_cast<int>(entries_.size()));
    for (int i = 0; i < entries_.size(); ++i) {
      settings_->setArrayIndex(i);
      settings_->setValue(kPaths, entries_[i]);
    }
    settings_->endArray();
  }
  emit changed();
}

InputFacts factsOf(const QStringList& inputs) {
  InputFacts facts;
  facts.isThere = !inputs.isEmpty();
  const auto addFile = [&facts](const QFileInfo& file) {
    facts.size += file.size();
    if (!facts.changed.isValid() || file.lastModified() > facts.changed) {
      facts.changed = file.lastModified();
    }
  };
  for (const QString& input : inputs) {
    const QFileInfo info(input);
    if (!info.exists()) {
      facts.isThere = false;
      continue;
    }
    if (!info.isDir()) {
      addFile(info);
      continue;
    }
    const QFileInfoList files = QDir(input).entryInfoList(QDir::Files, QDir::NoSort);
    for (qsizetype i = 0; i < std::min<qsizetype>(files.size(), kMostFilesLookedAt); ++i) {
      addFile(files[i]);
    }
    if (!facts.changed.isValid()) facts.changed = info.lastModified();
  }
  return facts;
}

QString shortNameOf(const QStringList& inputs) {
  if (inputs.isEmpty()) return {};
  const QString name = QFileInfo(inputs.front()).fileName();
  const QString first = name.isEmpty() ? inputs.front() : name;
  if (inputs.size() == 1) return first;
  return QCoreApplication::translate("RecentFiles", "%1 and %2 more")
      .arg(first)
      .arg(inputs.size() - 1);
}

QStringList absolutePaths(const QStringList& inputs) {
  QStringList paths;
  for (const QString& input : inputs) {
    paths.push_back(QDir::cleanPath(QFileInfo(input).absoluteFilePath()));
  }
  return paths;
}

}  // namespace pipetrace
