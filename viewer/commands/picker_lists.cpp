#include "viewer/commands/picker_lists.h"

#include <QCoreApplication>
#include <algorithm>

#include "chart/search/place_text.h"
#include "chart/steps/step_span.h"
#include "trace/text/decimal_time.h"
#include "viewer/chart/chart_commands.h"
#include "viewer/commands/command_groups.h"

namespace pipetrace {
namespace {

QString pickerText(const char* words) { return QCoreApplication::translate("Picker", words); }

QString lengthOf(Nanoseconds time) { return QString::fromStdString(formatDuration(time)); }

PickerEntry stepEntry(ChartWidget& chart, const StepSpan& step, const QString& text) {
  const Nanoseconds origin = chart.model()->span().begin;
  const QString detail = pickerText("at %1, %2 long")
                             .arg(lengthOf(std::max<Nanoseconds>(step.begin - origin, 0)),
                                  lengthOf(step.end - step.begin));
  return {text, detail, [c = &chart, step] { c->showTime(step.begin, step.end); }};
}

}  // namespace

std::vector<PickerEntry> commandEntries(const QMenuBar& menus, const ChartWidget& chart) {
  std::vector<PickerEntry> entries;
  for (const CommandGroup& group : commandGroups(menus)) {
    for (QAction* action : group.commands) {
      const bool lacksModel = action->parent() == &chart && chart.model() == nullptr;
      if (!action->isEnabled() || lacksModel) continue;
      QString text = group.title + ": " + plainText(*action);
      if (action->isCheckable()) text += action->isChecked() ? " ✓" : "";
      entries.push_back(
          {text, keysOf(*action).join(QStringLiteral("  ")), [action] { action->trigger(); }});
    }
  }
  return entries;
}

std::vector<PickerEntry> rowEntries(ChartWidget& chart) {
  std::vector<PickerEntry> entries;
  std::vector<PickerEntry> others;
  if (chart.model() == nullptr) return entries;
  const std::vector<ChartRow>& rows = chart.model()->rows();
  QString stages;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].rankLabel.empty()) stages = QString::fromStdString(rows[i].rankDetail);
    const QString text =
        pickerText("rank %1, %2").arg(rows[i].rank).arg(QString::fromStdString(rows[i].lane));
    (rows[i].isCompute ? entries : others).push_back({text, stages, [c = &chart, i] {
                                                        c->showRow(i);
                                                      }});
  }
  entries.insert(entries.end(), others.begin(), others.end());
  return entries;
}

std::vector<PickerEntry> stepEntries(ChartWidget& chart) {
  std::vector<PickerEntry> entries;
  if (chart.model() == nullptr || chart.model()->steps().empty()) return entries;
  const std::vector<StepSpan>& steps = chart.model()->steps();
  const StepSpan slowest = *slowestStep(steps);
  const StepSpan median = *medianStep(steps);
  entries.push_back(stepEntry(chart, slowest, pickerText("Slowest step (%1)").arg(slowest.step)));
  entries.push_back(
      stepEntry(chart, median, pickerText("Step of median length (%1)").arg(median.step)));
  for (const StepSpan& step : steps) {
    entries.push_back(stepEntry(
        chart, step, pickerText("Step %1").arg(QString::fromStdString(numberText(step)))));
  }
  return entries;
}

std::vector<PickerEntry> placeEntries(ChartWidget& chart, const QString& typed) {
  const auto place = placeOf(typed.toStdString());
  if (!place || chart.model() == nullptr) return {};
  ChartWidget* c = &chart;
  const ChartModel& model = *chart.model();
  if (place->kind == TypedPlace::Kind::kStep) {
    for (const StepSpan& step : model.steps()) {
      if (step.step == place->step) {
        return {
            stepEntry(chart, step,
                      pickerText("Go to step %1").arg(QString::fromStdString(numberText(step))))};
      }
    }
    return {{pickerText("There is no step %1").arg(place->step), {}, {}}};
  }
  if (place->kind == TypedPlace::Kind::kMove) {
    const bool isBack = place->time < 0;
    const QString text = isBack ? pickerText("Move %1 back") : pickerText("Move %1 on");
    const ViewState now = chart.viewState();
    const Nanoseconds middle = now.begin + (now.end - now.begin) / 2 + place->time;
    return {{text.arg(lengthOf(isBack ? -place->time : place->time)), {}, [c, middle] {
               c->showInstant(middle);
             }}};
  }
  const Nanoseconds time = model.span().begin + place->time;
  const bool isOutside = time > model.span().end;
  return {{pickerText("Go to %1").arg(lengthOf(place->time)),
           isOutside ? pickerText("after the end of the run") : QString(),
           [c, time] { c->showInstant(time); }}};
}

}  // namespace pipetrace
