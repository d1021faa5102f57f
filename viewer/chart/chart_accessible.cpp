#include "viewer/chart/chart_accessible.h"

#include <QAccessible>
#include <QAccessibleWidget>
#include <QCoreApplication>
#include <QPointer>
#include <map>

#include "chart/text/bubble_text.h"
#include "trace/text/decimal_time.h"
#include "trace/text/display_name.h"
#include "viewer/chart/row_labels.h"

namespace pipetrace {
namespace {

QString accessibleText(const char* words) {
  return QCoreApplication::translate("ChartAccessible", words);
}

/// The shown rows of a chart that has a model.
const std::vector<ShownRow>& shownRowsOf(const RowLabels& labels) {
  static const std::vector<ShownRow> none;
  return labels.chart().model() == nullptr ? none : labels.chart().view().layout.shown();
}

/// One shown row, by its index.
class RowItem : public QAccessibleInterface {
 public:
  RowItem(RowLabels& labels, int index) : labels_(&labels), index_(index) {}

  int index() const { return index_; }
  bool isValid() const override { return row() != nullptr; }
  QObject* object() const override { return nullptr; }
  QAccessibleInterface* parent() const override {
    return labels_ ? QAccessible::queryAccessibleInterface(labels_) : nullptr;
  }
  QAccessibleInterface* child(int /*index*/) const override { return nullptr; }
  QAccessibleInterface* childAt(int /*x*/, int /*y*/) const override { return nullptr; }
  int childCount() const override { return 0; }
  int indexOfChild(const QAccessibleInterface* /*child*/) const override { return -1; }
  QAccessible::Role role() const override { return QAccessible::ListItem; }
  void setText(QAccessible::Text /*which*/, const QString& /*text*/) override {}

  QString text(QAccessible::Text which) const override {
    const ShownRow* const at = row();
    if (at == nullptr) return {};
    if (which == QAccessible::Name) {
      std::string name(at->label);
      if (!at->prefix.empty()) name = std::string(at->prefix) + ", " + name;
      if (!at->detail.empty()) name += ", " + std::string(at->detail);
      return QString::fromStdString(name);
    }
    const auto& selection = labels_->chart().selection();
    const bool isSelected = selection && at->showsLanes() && selection->row == at->row;
    if (which != QAccessible::Description || !isSelected) return {};
    return accessibleText("selected: %1").arg(selectionWords(labels_->chart()));
  }

  QRect rect() const override {
    if (row() == nullptr) return {};
    const ChartView view = labels_->chart().view();
    const RowPlace place = view.layout.placeOf(static_cast<std::size_t>(index_));
    const QPoint top(0, view.yOf(place.top) - view.area.y);
    return {labels_->mapToGlobal(top), QSize(labels_->width(), place.height)};
  }

  QAccessible::State state() const override {
    QAccessible::State state;
    const ShownRow* const at = row();
    if (at == nullptr) {
      state.invalid = true;
      return state;
    }
    state.focusable = state.selectable = true;
    state.expandable = at->canFold;
    state.collapsed = at->isFolded;
    state.expanded = at->canFold && !at->isFolded;
    const bool isCurrent = at->node == labels_->current();
    state.selected = isCurrent;
    state.focused = isCurrent && labels_->hasFocus();
    state.offscreen =
        !QRect(labels_->mapToGlobal(QPoint(0, 0)), labels_->size()).intersects(rect());
    return state;
  }

 private:
  const ShownRow* row() const {
    if (!labels_) return nullptr;
    const std::vector<ShownRow>& rows = shownRowsOf(*labels_);
    const auto at = static_cast<std::size_t>(index_);
    return at < rows.size() ? &rows[at] : nullptr;
  }

  QPointer<RowLabels> labels_;
  int index_;
};

class RowList : public QAccessibleWidget {
 public:
  explicit RowList(RowLabels& labels)
      : QAccessibleWidget(&labels, QAccessible::List), labels_(labels) {}
  ~RowList() override {
    for (const auto& [index, id] : items_) QAccessible::deleteAccessibleInterface(id);
  }

  int childCount() const override { return static_cast<int>(shownRowsOf(labels_).size()); }
  QAccessibleInterface* child(int index) const override {
    if (index < 0 || index >= childCount()) return nullptr;
    const auto known = items_.find(index);
    if (known != items_.end()) return QAccessible::accessibleInterface(known->second);
    auto* const item = new RowItem(labels_, index);
    items_[index] = QAccessible::registerAccessibleInterface(item);
    return item;
  }
  QAccessibleInterface* childAt(int x, int y) const override {
    for (int i = 0; i < childCount(); ++i) {
      if (child(i)->rect().contains(x, y)) return child(i);
    }
    return nullptr;
  }
  int indexOfChild(const QAccessibleInterface* child) const override {
    const auto* const item = dynamic_cast<const RowItem*>(child);
    return item == nullptr ? -1 : item->index();
  }
  QAccessibleInterface* focusChild() const override {
    for (int i = 0; i < childCount(); ++i) {
      if (shownRowsOf(labels_)[static_cast<std::size_t>(i)].node == labels_.current()) {
        return child(i);
      }
    }
    return nullptr;
  }

 private:
  RowLabels& labels_;
  mutable std::map<int, QAccessible::Id> items_;
};

QAccessibleInterface* rowListOf(const QString& /*className*/, QObject* object) {
  auto* const labels = dynamic_cast<RowLabels*>(object);
  return labels == nullptr ? nullptr : new RowList(*labels);
}

}  // namespace

void makeRowsAccessible() {
  static const bool isInstalled = [] {
    QAccessible::installFactory(rowListOf);
    return true;
  }();
  (void)isInstalled;
}

QString selectionWords(const ChartWidget& chart) {
  if (chart.model() == nullptr || !chart.selection()) return {};
  const Event& event = *chart.selection()->event;
  const Timeline& timeline = chart.model()->timeline();
  QString words = QString::fromStdString(displayName(timeline, event));
  if (event.kind == JobKind::kBubble) {
    const std::string text = BubbleText(timeline, event).withCulprit();
    words = accessibleText("bubble");
    const QString what =
        QString::fromStdString(text.empty() ? BubbleText(timeline, event).className() : text);
    if (!what.isEmpty()) words += ", " + what;
  }
  words += accessibleText(" on rank %1").arg(chart.model()->rows()[chart.selection()->row].rank);
  if (event.step >= 0) words += accessibleText(", step %1").arg(event.step);
  return words + ", " + QString::fromStdString(formatDuration(event.duration()));
}

}  // namespace pipetrace
