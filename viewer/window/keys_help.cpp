#include "viewer/window/keys_help.h"

#include <QCoreApplication>
#include <QDialogButtonBox>
#include <QTextBrowser>
#include <QVBoxLayout>
#include <array>

#include "viewer/chart/chart_commands.h"

namespace pipetrace {
namespace {

struct MouseAction {
  const char* input;
  const char* what;
};

constexpr std::array kMouse = {
    MouseAction{"Wheel", "zoom at the cursor; over the labels: scroll the rows"},
    MouseAction{"Ctrl + wheel", "zoom at the cursor"},
    MouseAction{"Shift + wheel, sideways wheel", "move in time"},
    MouseAction{"Two fingers on a trackpad", "move in time and over the rows"},
    MouseAction{"Pinch, Ctrl + two fingers", "zoom"},
    MouseAction{"Drag", "select an area; drag its edges to change it"},
    MouseAction{"Shift + drag", "move in time, and over the rows"},
    MouseAction{"Click", "select a job, a bubble, or above the rows a step"},
    MouseAction{"Double click", "zoom to the job or the bubble"},
};

QString translated(const char* words) { return QCoreApplication::translate("KeysHelp", words); }

QString heading(const QString& title) {
  return "<tr><td colspan=2><br><b>" + title.toHtmlEscaped() + "</b></td></tr>";
}

QString line(const QString& keys, const QString& what) {
  QString spaced = keys.toHtmlEscaped();
  spaced.replace(QStringLiteral("  "), QStringLiteral("&nbsp;&nbsp; "));
  return "<tr><td>" + spaced + "&nbsp;&nbsp;&nbsp;</td><td>" + what.toHtmlEscaped() + "</td></tr>";
}

}  // namespace

QString keysHelp(const QList<CommandGroup>& groups) {
  QString html = QStringLiteral("<table cellpadding=3>") + heading(translated("Mouse"));
  for (const MouseAction& action : kMouse) {
    html += line(translated(action.input), translated(action.what));
  }
  for (const CommandGroup& group : groups) {
    QString lines;
    for (const QAction* action : group.commands) {
      const QStringList keys = keysOf(*action);
      if (!keys.isEmpty()) lines += line(keys.join(QStringLiteral("  ")), plainText(*action));
    }
    if (!lines.isEmpty()) html += heading(group.title) + lines;
  }
  html += heading(translated("In the search bar and in lists"));
  html += line(translated("Enter"), translated("next match; pick"));
  html += line(translated("Shift + Enter"), translated("previous match"));
  html += line(translated("Esc"), translated("close"));
  return html + "</table>";
}

QDialog* makeKeysHelp(const QList<CommandGroup>& groups, QWidget* parent) {
  auto* dialog = new QDialog(parent);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(translated("Mouse and keys"));
  dialog->resize(620, 600);
  auto* text = new QTextBrowser;
  text->setHtml(keysHelp(groups));
  text->setAccessibleName(translated("Mouse and keys"));
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
  auto* column = new QVBoxLayout(dialog);
  column->addWidget(text);
  column->addWidget(buttons);
  return dialog;
}

}  // namespace pipetrace
