#include "viewer/panels/details_panel.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "trace/text/decimal_time.h"
#include "viewer/words/job_fields.h"

namespace pipetrace {
namespace {

/// More of them are no help.
constexpr std::size_t kMostRelations = 12;

class Details {
 public:
  Details(Causes& causes, const EventSpot& spot)
      : causes_(causes), places_(*causes.places()), relations_(places_), spot_(spot) {}

  std::vector<DetailRow> ofJob() {
    const JobGraph::Id node = places_.nodeOf(spot_);
    if (node == JobGraph::kNone) return {};
    addSlack(node);
    addPath();
    addCost(node);
    addRelations(QStringLiteral("Waited for"), relations_.waitedFor(node), node);
    addRelations(QStringLiteral("Waiting for it"), relations_.waiting(node), JobGraph::kNone);
    return std::move(rows_);
  }

  std::vector<DetailRow> ofBubble() {
    const Bubble* bubble = places_.bubbleOf(spot_);
    if (bubble == nullptr) return {};
    const JobGraph& graph = places_.graph();
    if (bubble->cause != JobGraph::kNone && bubble->cause != bubble->culprit &&
        graph.node(bubble->cause).isMessage) {
      const JobGraph::Node& message = graph.node(bubble->cause);
      rows_.push_back({QStringLiteral("Message"),
                       QStringLiteral("%1 to rank %2")
                           .arg(lengthText(message.end - message.begin))
                           .arg(graph.ranks()[message.rank].number),
                       places_.spotOf(bubble->cause)});
    }
    if (const CulpritGroup* group = groupOf(graph, places_.explanation().culprits, *bubble)) {
      rows_.push_back({QStringLiteral("Costs in all"),
                       QStringLiteral("%1 of idle time").arg(lengthText(group->time)),
                       {},
                       QStringLiteral("All bubbles with this cause, over all ranks and the steps "
                                      "that count")});
    }
    return std::move(rows_);
  }

 private:
  void addSlack(JobGraph::Id node) {
    const Nanoseconds slack = places_.slackOf(node);
    if (slack < 0) return;
    const bool isNone = slack == 0;
    rows_.push_back({QStringLiteral("Slack"),
                     isNone ? QStringLiteral("none") : lengthText(slack),
                     {},
                     isNone ? QStringLiteral("If it ended later, the step would be longer")
                            : QStringLiteral("It could end that much later in a step of the same "
                                             "length")});
  }

  void addPath() {
    const auto isOnPath = causes_.isOnPath(spot_);
    if (!isOnPath) return;
    rows_.push_back({QStringLiteral("Critical path"),
                     *isOnPath ? QStringLiteral("yes") : QStringLiteral("no"),
                     {}});
  }

  /// The idle time of its step that it is to blame for.
  void addCost(JobGraph::Id job) {
    const BubbleWindow* window = places_.windowOf(job);
    if (window == nullptr) return;
    constexpr std::size_t kMostBubbles = 200'000;  // a step may be a whole run
    Nanoseconds cost = 0;
    std::size_t looked = 0;
    for (const std::vector<Bubble>& bubbles : places_.explanation().bubbles.byRank) {
      const auto from = std::partition_point(
          bubbles.begin(), bubbles.end(),
          [&](const Bubble& bubble) { return bubble.end <= window->span.begin; });
      for (auto at = from; at != bubbles.end() && at->begin < window->span.end; ++at) {
        if (at->culprit == job) cost += at->end - at->begin;
        if (++looked == kMostBubbles) return;
      }
    }
    if (cost == 0) return;
    rows_.push_back({QStringLiteral("Costs"),
                     QStringLiteral("%1 of idle time").arg(lengthText(cost)),
                     {},
                     QStringLiteral("Bubbles of its step that it is the culprit of, all ranks")});
  }

  void addRelations(const QString& name, const std::vector<Relation>& relations,
                    JobGraph::Id waiting) {
    std::size_t count = 0;
    for (const Relation& relation : relations) {
      if (++count > kMostRelations) {
        rows_.push_back(
            {QString(), QStringLiteral("and %1 more").arg(relations.size() - kMostRelations), {}});
        return;
      }
      const bool isCause = waiting != JobGraph::kNone;
      rows_.push_back({count == 1 ? name : QString(), textOf(relation, isCause),
                       places_.spotOf(relation.job), tooltipOf(relation, isCause),
                       relation.isLast});
    }
  }

  /// Short, as panels are narrow; the tooltip says the rest.
  QString textOf(const Relation& relation, bool isCause) const {
    const QString text = QString::fromStdString(places_.nameOf(relation.job));
    if (relation.message != JobGraph::kNone) return text + QStringLiteral(", by message");
    if (relation.kind != Relation::Kind::kLane) return text;
    return text + (isCause ? QStringLiteral(", job before") : QStringLiteral(", job after"));
  }

  QString tooltipOf(const Relation& relation, bool isCause) const {
    QString text = textOf(relation, isCause);
    if (relation.message != JobGraph::kNone) {
      const JobGraph::Node& message = places_.graph().node(relation.message);
      text += QStringLiteral(" of ") + lengthText(message.end - message.begin);
    }
    if (relation.isLast) {
      text += isCause ? QStringLiteral(" (it waited for this last)")
                      : QStringLiteral(" (which waited for this job last)");
    }
    return text;
  }

  Causes& causes_;
  const GraphPlaces& places_;
  JobRelations relations_;
  EventSpot spot_;
  std::vector<DetailRow> rows_;
};

/// Makes a line look like a link.
void showAsLink(QTreeWidgetItem& item, bool isStrong, const QWidget& panel) {
  QFont font = panel.font();
  font.setBold(isStrong);
  font.setUnderline(true);
  item.setFont(1, font);
  item.setForeground(1, panel.palette().link());
}

}  // namespace

std::vector<DetailRow> detailRows(const ChartWidget& chart, Causes& causes, const ChartHit& hit) {
  std::vector<DetailRow> rows;
  const bool isBubble = hit.event->kind == JobKind::kBubble;
  const ChartModel& model = *chart.model();
  std::vector<JobField> groups;
  if (causes.places() != nullptr) groups = groupFields(*causes.places(), {hit.row, hit.event});
  for (const JobField& field : jobFields(model, model.rows()[hit.row], *hit.event, groups)) {
    std::optional<EventSpot> link;
    if (field.isCulprit && chart.culprit()) {
      link = EventSpot{chart.culprit()->row, chart.culprit()->event};
    }
    rows.push_back({field.name, field.value, link});
  }
  if (causes.places() == nullptr) return rows;
  Details details(causes, {hit.row, hit.event});
  for (DetailRow& row : isBubble ? details.ofBubble() : details.ofJob()) {
    rows.push_back(std::move(row));
  }
  return rows;
}

DetailsPanel::DetailsPanel(ChartWidget& chart, Causes& causes)
    : chart_(chart),
      causes_(causes),
      fields_(new QTreeWidget),
      goToCulprit_(new QPushButton(tr("Go to the culprit (C)"))),
      goBack_(new QPushButton(tr("Back to the bubble (Shift+C)"))) {
  fields_->setHeaderHidden(true);
  fields_->setColumnCount(2);
  fields_->setRootIsDecorated(false);
  fields_->setAlternatingRowColors(true);
  fields_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  fields_->setTextElideMode(Qt::ElideRight);
  fields_->setAccessibleName(tr("Details of the selection"));
  fields_->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(fields_);
  for (QPushButton* button : {goToCulprit_, goBack_}) {
    button->setFocusPolicy(Qt::NoFocus);  // the chart keeps the keys
    column->addWidget(button);
  }
  auto* copy = new QAction(tr("Copy"), fields_);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  fields_->addAction(copy);
  fields_->setContextMenuPolicy(Qt::ActionsContextMenu);
  connect(copy, &QAction::triggered, this, &DetailsPanel::copy);
  connect(fields_, &QTreeWidget::itemClicked, this, &DetailsPanel::go);
  connect(fields_, &QTreeWidget::itemActivated, this, &DetailsPanel::go);
  connect(goToCulprit_, &QPushButton::clicked, &chart_, &ChartWidget::showCulprit);
  connect(goBack_, &QPushButton::clicked, &chart_, &ChartWidget::showBubble);
  connect(&causes_, &Causes::changed, this, &DetailsPanel::update);
  update();
}

void DetailsPanel::update() {
  fields_->clear();
  links_.clear();
  summary_.clear();
  goToCulprit_->setVisible(chart_.culprit().has_value());
  goBack_->setVisible(chart_.hasBubble());
  const auto& selection = chart_.selection();
  if (!selection) {
    new QTreeWidgetItem(fields_, {tr("Click a job or a bubble to see what is known about it.")});
    fields_->setFirstColumnSpanned(0, {}, true);
    return;
  }
  for (const DetailRow& row : detailRows(chart_, causes_, *selection)) {
    auto* item = new QTreeWidgetItem(fields_, {row.name, row.value});
    item->setToolTip(1, (row.tooltip.isEmpty() ? row.value : row.tooltip).toHtmlEscaped());
    if (row.link) showAsLink(*item, row.isStrong, *fields_);
    links_.push_back(row.link);
  }
  summary_ = fields_->topLevelItem(0)->text(1) + ", " +
             QString::fromStdString(formatDuration(selection->event->duration()));
}

void DetailsPanel::go(QTreeWidgetItem* item) {
  const int line = fields_->indexOfTopLevelItem(item);
  if (line < 0 || static_cast<std::size_t>(line) >= links_.size()) return;
  const auto link = links_[static_cast<std::size_t>(line)];
  const bool wasMany = fields_->selectedItems().size() > 1;  // lines that are chosen to be copied
  if (!link || wasMany) return;
  // Later: the lines are replaced, and the tree is not done with this one.
  QMetaObject::invokeMethod(
      this, [this, link = *link] { causes_.goTo(link); }, Qt::QueuedConnection);
}

void DetailsPanel::copy() {
  const bool areSome = !fields_->selectedItems().isEmpty();
  QStringList lines;
  for (int i = 0; i < fields_->topLevelItemCount(); ++i) {
    const QTreeWidgetItem* item = fields_->topLevelItem(i);
    if (!areSome || item->isSelected()) lines.push_back(item->text(0) + "\t" + item->text(1));
  }
  QApplication::clipboard()->setText(lines.join('\n'));
}

}  // namespace pipetrace
