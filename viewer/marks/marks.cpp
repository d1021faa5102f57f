#include "viewer/marks/marks.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>
#include <algorithm>
#include <utility>

namespace pipetrace {
namespace {

constexpr const char* kVersionKey = "pipetrace_notes";
constexpr int kVersion = 1;

// Numbers of JSON are doubles, which are exact to 2^53 ns: 104 days after the first event.

QJsonObject markToJson(const ChartMark& mark, Nanoseconds origin) {
  QJsonObject json;
  json["time_ns"] = static_cast<qint64>(mark.begin - origin);
  if (mark.isOfEvent()) {
    json["length_ns"] = static_cast<qint64>(mark.end - mark.begin);
    json["rank"] = mark.rank;
    json["lane"] = QString::fromStdString(mark.lane);
  }
  json["text"] = QString::fromStdString(mark.text);
  return json;
}

ChartMark markFromJson(const QJsonObject& json, Nanoseconds origin) {
  ChartMark mark;
  mark.begin = origin + json["time_ns"].toInteger();
  mark.end = mark.begin + std::max<qint64>(json["length_ns"].toInteger(), 0);
  mark.rank = json["rank"].toInt(-1);
  mark.lane = json["lane"].toString().toStdString();
  mark.text = json["text"].toString().toStdString();
  return mark;
}

bool beginsBefore(const ChartMark& a, const ChartMark& b) { return a.begin < b.begin; }

}  // namespace

QString marksFile(const QStringList& inputs) {
  const QFileInfo input(QDir::cleanPath(inputs.front()));
  return input.path() + "/" + input.fileName() + ".pipetrace-notes.json";
}

void Marks::open(const QString& file, Nanoseconds origin) {
  file_ = file;
  origin_ = origin;
  list_.clear();
  isReadable_ = true;
  QFile in(file_);
  if (in.exists()) {
    QJsonParseError error{};
    QJsonObject json;
    if (in.open(QIODevice::ReadOnly)) json = QJsonDocument::fromJson(in.readAll(), &error).object();
    if (json[kVersionKey].toInt() != kVersion) {
      isReadable_ = false;
      emit failed(
          tr("%1 holds no notes that this version can read; new ones are not saved").arg(file_));
    }
    for (const QJsonValue& each : json["marks"].toArray()) {
      if (isReadable_) list_.push_back(markFromJson(each.toObject(), origin_));
    }
    std::stable_sort(list_.begin(), list_.end(), beginsBefore);
  }
  emit changed();
}

int Marks::add(ChartMark mark) {
  const auto same = std::find_if(list_.begin(), list_.end(), [&](const ChartMark& each) {
    return each.begin == mark.begin && each.end == mark.end && each.rank == mark.rank &&
           each.lane == mark.lane;
  });
  if (same != list_.end()) return static_cast<int>(same - list_.begin());
  const auto place = std::upper_bound(list_.begin(), list_.end(), mark, beginsBefore);
  const auto index = static_cast<int>(place - list_.begin());
  list_.insert(place, std::move(mark));
  save();
  emit changed();
  return index;
}

void Marks::setText(int index, const QString& text) {
  ChartMark& mark = list_.at(static_cast<std::size_t>(index));
  if (mark.text == text.toStdString()) return;
  mark.text = text.toStdString();
  save();
  emit changed();
}

void Marks::remove(int index) {
  if (index < 0 || static_cast<std::size_t>(index) >= list_.size()) return;
  list_.erase(list_.begin() + index);
  save();
  emit changed();
}

void Marks::save() {
  if (file_.isEmpty() || !isReadable_) return;
  if (list_.empty()) {
    QFile::remove(file_);
    return;
  }
  QJsonArray marks;
  for (const ChartMark& mark : list_) marks.append(markToJson(mark, origin_));
  QSaveFile out(file_);
  const bool isOpen = out.open(QIODevice::WriteOnly);
  const QByteArray text = QJsonDocument(QJsonObject{{kVersionKey, kVersion}, {"marks", marks}})
                              .toJson(QJsonDocument::Indented);
  if (!isOpen || out.write(text) != text.size() || !out.commit()) {
    emit failed(
        tr("The notes are not saved: %1 cannot be written (%2)").arg(file_, out.errorString()));
  }
}

}  // namespace pipetrace
