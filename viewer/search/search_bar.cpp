#include "viewer/search/search_bar.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLocale>
#include <QToolButton>

namespace pipetrace {
namespace {

constexpr int kTypingPause = 600;  // ms of no typing, after which a query is taken as meant

QString numberText(std::size_t number) {
  return QLocale::c().toString(static_cast<qulonglong>(number)).replace(',', QChar(0x202F));
}

}  // namespace

SearchBar::SearchBar(ChartSearch& search)
    : QToolBar(tr("Search")),
      search_(search),
      query_(new QLineEdit),
      count_(new QLabel),
      problem_(new QLabel) {
  setObjectName(QStringLiteral("search"));
  setMovable(false);
  setContextMenuPolicy(Qt::PreventContextMenu);
  toggleViewAction()->setVisible(false);
  query_->setPlaceholderText(
      tr("Find jobs, like: forward  kind:send_forward  step:12 rank:3 mb:2  class:imbalance  "
         "longer:2ms"));
  query_->setAccessibleName(tr("Search for jobs"));
  query_->setClearButtonEnabled(true);
  query_->setMinimumWidth(260);
  query_->installEventFilter(this);
  count_->setContentsMargins(8, 0, 8, 0);
  count_->setMinimumWidth(120);
  count_->setAccessibleName(tr("Matches"));
  problem_->setContentsMargins(4, 0, 4, 0);
  problem_->setWordWrap(true);
  problem_->setAccessibleName(tr("Problem with the search"));
  auto* content = new QWidget;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(4, 2, 4, 2);
  column->setSpacing(2);
  auto* row = new QHBoxLayout;
  column->addLayout(row);
  column->addWidget(problem_);
  addWidget(content);
  const auto button = [row](Qt::ArrowType arrow, const QString& name, const QString& tip) {
    auto* made = new QToolButton;
    made->setArrowType(arrow);
    made->setAutoRaise(true);
    made->setAccessibleName(name);
    made->setToolTip(tip);
    row->addWidget(made);
    return made;
  };
  row->addWidget(query_, 1);
  row->addWidget(count_);
  QToolButton* previous =
      button(Qt::UpArrow, tr("Previous match"), tr("Previous match (Shift+Enter)"));
  QToolButton* next = button(Qt::DownArrow, tr("Next match"), tr("Next match (Enter)"));
  QToolButton* end = button(Qt::NoArrow, tr("End the search"), tr("End the search (Esc)"));
  end->setText(QStringLiteral("×"));
  connect(previous, &QToolButton::clicked, &search_, &ChartSearch::previous);
  connect(next, &QToolButton::clicked, &search_, &ChartSearch::next);
  connect(end, &QToolButton::clicked, this, &SearchBar::close);
  connect(query_, &QLineEdit::textEdited, this, [this](const QString& text) {
    typing_.start();
    search_.start(text);
  });
  typing_.setSingleShot(true);
  typing_.setInterval(kTypingPause);
  connect(&typing_, &QTimer::timeout, this, &SearchBar::update);
  connect(&search_, &ChartSearch::changed, this, &SearchBar::update);
  update();
  hide();
}

void SearchBar::open() {
  show();
  query_->setFocus(Qt::ShortcutFocusReason);
  query_->selectAll();
  if (search_.query() != query_->text().trimmed()) search_.start(query_->text());
}

void SearchBar::find(const QString& query) {
  query_->setText(query);
  show();
  search_.start(query);
  search_.goToFirst();
}

void SearchBar::close() {
  if (!isVisible()) return;
  hide();
  search_.clear();
  emit closed();
}

QString SearchBar::countText() const {
  if (search_.query().isEmpty() || !search_.problem().isEmpty()) return {};
  const QString more = search_.isBusy() ? QStringLiteral(" …") : QString();
  if (search_.count() == 0) return search_.isBusy() ? tr("searching …") : tr("no match");
  const QString count = numberText(search_.count()) + more;
  if (search_.current() == 0) {
    return search_.count() == 1 ? tr("%1 match").arg(count) : tr("%1 matches").arg(count);
  }
  return tr("%1 of %2").arg(numberText(search_.current()), count);
}

void SearchBar::update() {
  count_->setText(countText());
  // A query that is being typed is not wrong yet.
  const bool isWrong = !search_.problem().isEmpty() && !typing_.isActive();
  problem_->setText(isWrong ? search_.problem() : QString());
  problem_->setVisible(isWrong);
}

bool SearchBar::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::KeyPress) return QToolBar::eventFilter(watched, event);
  const auto* key = static_cast<QKeyEvent*>(event);
  switch (key->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
      typing_.stop();
      update();
      (key->modifiers() & Qt::ShiftModifier) != 0 ? search_.previous() : search_.next();
      return true;
    case Qt::Key_Escape: close(); return true;
    default: return QToolBar::eventFilter(watched, event);
  }
}

}  // namespace pipetrace
