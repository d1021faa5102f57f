#include "viewer/words/job_fields.h"

#include <QLocale>
#include <QPalette>
#include <QToolTip>
#include <algorithm>
#include <utility>

#include "chart/text/bubble_text.h"
#include "trace/event_arguments.h"
#include "trace/log/log_format.h"
#include "trace/text/decimal_time.h"
#include "trace/text/display_name.h"

namespace pipetrace {
namespace {

QString toQString(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

/// A value, shortened to fit a tooltip.
QString shortened(QString value) {
  constexpr qsizetype kLongest = 80;
  if (value.size() > kLongest) value = value.left(kLongest - 1) + QChar(0x2026);
  return value;
}

QString argumentText(const Timeline& timeline, const Argument& argument) {
  switch (argument.type) {
    case ArgumentType::kInteger: return QString::number(argument.integer);
    case ArgumentType::kReal: return QString::number(argument.real, 'g', 15);
    case ArgumentType::kText: return toQString(timeline.strings[argument.text]);
  }
  return {};
}

QString bytesText(std::int64_t bytes) {
  QString text = QString::number(bytes);
  if (bytes >= 1024) {
    text += " (" + QLocale::c().formattedDataSize(bytes, 2, QLocale::DataSizeIecFormat) + ")";
  }
  return text;
}

/// Collects fields. Leaves out values that are not given.
class Fields {
 public:
  void text(const char* name, const QString& value) {
    if (!value.isEmpty()) list.push_back({QString::fromLatin1(name), value});
  }
  void number(const char* name, std::int64_t value) {
    if (value != kNotGiven) text(name, QString::number(value));
  }
  std::vector<JobField> list;
};

QString durationText(Nanoseconds duration) {
  if (duration < kNsPerUs) return toQString(formatDuration(duration));
  return toQString(formatDuration(duration)) + " (" + QString::number(duration) + " ns)";
}

/// The parts of a job in which ranks meet.
class PartsOfJob {
 public:
  static bool isPart(std::string_view key, const Argument& argument) {
    return argument.type == ArgumentType::kInteger &&
           (key == inside_arguments::kOwnTime || key == inside_arguments::kWaiting ||
            key == inside_arguments::kMoving);
  }

  PartsOfJob(const Timeline& timeline, const Event& event) : rest_(event.duration()) {
    if (!isCompute(event.kind)) return;
    for (const Argument& argument : timeline.argumentsOf(event)) {
      const std::string_view key = timeline.strings[argument.key];
      if (!isPart(key, argument)) continue;
      ++count_;
      rest_ -= argument.integer;
      (key == inside_arguments::kOwnTime   ? own_
       : key == inside_arguments::kWaiting ? waiting_
                                           : moving_) = argument.integer;
    }
  }

  bool areKnown() const { return count_ == 3; }

  void addTo(Fields& fields) const {
    fields.text("Own", durationText(own_));
    fields.text("Waiting", durationText(waiting_));
    fields.text("Moving", durationText(moving_));
    fields.text("Launch-bound", durationText(rest_));
  }

 private:
  int count_ = 0;
  Nanoseconds own_ = 0;
  Nanoseconds waiting_ = 0;
  Nanoseconds moving_ = 0;
  Nanoseconds rest_;  // launch-bound
};

/// Those that are no `parts`.
void addArguments(Fields& fields, const Timeline& timeline, const Event& event,
                  const PartsOfJob& parts) {
  for (const Argument& argument : timeline.argumentsOf(event)) {
    const std::string_view key = timeline.strings[argument.key];
    if (parts.areKnown() && PartsOfJob::isPart(key, argument)) continue;
    if (event.kind == JobKind::kBubble && key == bubble_arguments::kCulprit) continue;
    if (key == log_format::kBytes && argument.type == ArgumentType::kInteger) {
      fields.text("Bytes", bytesText(argument.integer));
    } else {
      fields.list.push_back({toQString(key), argumentText(timeline, argument)});
    }
  }
}

void addBubble(Fields& fields, const Timeline& timeline, const Event& bubble) {
  fields.text("Class", toQString(bubbleClassWords(bubble.bubbleClass)));
  fields.text("Meaning", toQString(rowOf(bubble.bubbleClass).meaning));
  const QString culprit = toQString(BubbleText(timeline, bubble).culprit());
  if (!culprit.isEmpty()) fields.list.push_back({QStringLiteral("Culprit"), culprit, true});
}

/// Whether the profile has the culprit's rank: a tooltip has no time to look for the job itself.
bool mayHaveCulprit(const ChartModel& model, const Event& event) {
  return event.kind == JobKind::kBubble && event.peer != kNotGiven &&
         std::any_of(model.rows().begin(), model.rows().end(),
                     [&](const ChartRow& row) { return row.rank == event.peer; });
}

QString table(const std::vector<JobField>& fields) {
  QString html = "<table cellspacing=0 cellpadding=1>";
  for (const JobField& field : fields) html += tipLine(field.name, shortened(field.value));
  return html + "</table>";
}

QString sharedPixelText(const ChartModel& model, const ChartHit& hit) {
  const double share =
      hit.span > 0 ? 100.0 * static_cast<double>(hit.load.busy) / static_cast<double>(hit.span)
                   : 0.0;
  Fields fields;
  fields.text("Covered",
              QString::number(share, 'f', 1) + " % of " + toQString(formatDuration(hit.span)));
  fields.text("Longest", toQString(displayName(model.timeline(), *hit.event)) + ", " +
                             toQString(formatDuration(hit.event->duration())));
  const char* what = hit.event->kind == JobKind::kBubble ? "bubbles" : "jobs";
  return "<b>" + QString::number(hit.count) + " " + what +
         " in this pixel</b> (zoom in to see them)" + table(fields.list);
}

}  // namespace

QString tipLine(const QString& name, const QString& value) {
  const QString faint = QToolTip::palette().color(QPalette::PlaceholderText).name();
  return "<tr><td style='color:" + faint + "; padding-right:10px'>" + name.toHtmlEscaped() +
         "</td><td style='white-space:nowrap'>" + value.toHtmlEscaped() + "</td></tr>";
}

QString lengthText(Nanoseconds time) { return toQString(formatDuration(time)); }

QString exactTime(Nanoseconds time) {
  std::string text;
  appendMilliseconds(text, time);
  return toQString(text) + " ms";
}

std::vector<JobField> jobFields(const ChartModel& model, const ChartRow& row, const Event& event,
                                const std::vector<JobField>& more) {
  const Timeline& timeline = model.timeline();
  const Nanoseconds origin = model.span().begin;
  const bool isBubble = event.kind == JobKind::kBubble;
  Fields fields;
  fields.text("Name", toQString(displayName(timeline, event)));
  fields.text("Kind", toQString(logName(event.kind)));
  if (isBubble) addBubble(fields, timeline, event);
  fields.number("Rank", row.rank);
  fields.text("Lane", isBubble ? QString() : toQString(row.lane));
  fields.number("Step", event.step);
  fields.text("Phase", toQString(logName(event.phase)));
  fields.number("Micro-batch", event.microBatch);
  fields.number("Stage", event.stage);
  fields.number("Chunk", event.chunk);
  fields.number("Part", event.part);
  fields.text("Start", exactTime(event.begin - origin));
  fields.text("End", exactTime(event.end - origin));
  fields.text("Duration", durationText(event.duration()));
  const PartsOfJob parts(timeline, event);
  if (parts.areKnown()) parts.addTo(fields);
  fields.list.insert(fields.list.end(), more.begin(), more.end());
  if (!isBubble) fields.number("Peer", event.peer);
  addArguments(fields, timeline, event, parts);
  if (!isBubble) fields.number(isComputeLane(event.kind) ? "Id" : "Job id", event.job);
  return std::move(fields.list);
}

QString tooltipText(const ChartRow& row) {
  Fields fields;
  fields.number("Rank", row.rank);
  fields.text("Lane", toQString(row.lane));
  fields.text("Runs", toQString(row.rankDetail));
  std::size_t count = 0;
  for (const LaneIndex& lane : row.lanes) count += lane.size();
  fields.text("Jobs", QString::number(count));
  return table(fields.list);
}

QString tooltipText(const ChartModel& model, const ChartHit& hit,
                    const std::vector<JobField>& more) {
  if (hit.count > 1) return sharedPixelText(model, hit);
  std::vector<JobField> fields = jobFields(model, model.rows()[hit.row], *hit.event, more);
  const QString name = shortened(fields.front().value).toHtmlEscaped();
  fields.erase(fields.begin());
  return "<b>" + name + "</b>" + table(fields) +
         (mayHaveCulprit(model, *hit.event) ? "<i>C: go to the culprit</i>" : "");
}

}  // namespace pipetrace
