#include "viewer/window/keys_help.h"

#include <QCoreApplication>

#include "viewer/chart/chart_commands.h"

namespace pipetrace {
namespace {

QString translated(const char* words) { return QCoreApplication::translate("KeysHelp", words); }

QString line(const QString& keys, const QString& what) {
  return "<tr><td>" + keys.toHtmlEscaped() + "</td><td>" + what.toHtmlEscaped() + "</td></tr>";
}

QString keysOf(const QAction& action) {
  QStringList keys;
  for (const QKeySequence& key : action.shortcuts()) {
    keys.push_back(key.toString(QKeySequence::NativeText));
  }
  return keys.join(QStringLiteral("  "));
}

}  // namespace

QString keysHelp(const ChartWidget& chart) {
  QString html = QStringLiteral("<table cellpadding=3>");
  html +=
      line(translated("Wheel"), translated("zoom at the cursor; over the labels: scroll the rows"));
  html += line(translated("Shift + wheel"), translated("move in time"));
  html += line(translated("Drag"), translated("move in time, and over the rows"));
  html += line(translated("Click"), translated("select a job or a bubble"));
  html += line(translated("Double click"), translated("from a bubble to its culprit"));
  for (const CommandMenu menu : {CommandMenu::kView, CommandMenu::kGo, CommandMenu::kRows}) {
    for (const QAction* action : commandsOf(chart, menu)) {
      if (!action->shortcuts().isEmpty()) html += line(keysOf(*action), action->text());
    }
  }
  html += line(translated("Up  Down  PgUp  PgDown"), translated("scroll the rows"));
  html += line(translated("Esc"), translated("select nothing"));
  return html + "</table>";
}

}  // namespace pipetrace
