#include "viewer/what_if/what_if_panel.h"

#include <QClipboard>
#include <QFileDialog>
#include <QFileInfo>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QRegularExpression>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <utility>

#include "analysis/present/what_if_report.h"
#include "parser/chrome/write/writer.h"
#include "schedule/build_schedule.h"
#include "schedule/builders/stage_ranks.h"
#include "schedule/comm_streams.h"
#include "schedule/file/schedule_file.h"
#include "schedule/scale/scale_option.h"
#include "trace/error.h"
#include "trace/files/output_file.h"
#include "trace/text/decimal_time.h"
#include "trace/text/shell_word.h"
#include "viewer/words/option_words.h"

namespace pipetrace {
namespace {

constexpr int kSettle = 500;    // ms without a change, after which the whole run is predicted
constexpr int kProgress = 150;  // ms between looks at it
constexpr std::size_t kMostUndo = 200;
constexpr double kAsMeasured = -1;  // of the field of a link's time
constexpr int kMostMicroBatches = 1'000'000;
constexpr int kMostChunks = 1024;

/// The kinds that can be scaled, with their names for people.
constexpr std::array<std::pair<const char*, const char*>, 7> kKinds = {{
    {"forward", QT_TR_NOOP("forwards")},
    {"backward", QT_TR_NOOP("backwards")},
    {"optimizer", QT_TR_NOOP("optimizers")},
    {"transfer", QT_TR_NOOP("all messages")},
    {"collective", QT_TR_NOOP("collectives")},
    {"data", QT_TR_NOOP("loading data")},
    {"checkpoint", QT_TR_NOOP("checkpoints")},
}};

QString asText(const std::string& text) { return QString::fromStdString(text); }

QLabel* heading(const QString& text) {
  auto* label = new QLabel(text);
  QFont font = label->font();
  font.setBold(true);
  label->setFont(font);
  label->setContentsMargins(0, 8, 0, 0);
  return label;
}

QLabel* wrapped() {
  auto* label = new QLabel;
  label->setWordWrap(true);
  label->setTextFormat(Qt::PlainText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

void setFactor(std::map<int, WhatIfChanges::Factor>& factors, int of, qint64 factor) {
  if (factor == ScaleOption::kOne) {
    factors.erase(of);
  } else {
    factors[of] = factor;
  }
}

template <typename Key>
const WhatIfChanges::Factor* factorOf(const std::map<Key, WhatIfChanges::Factor>& factors,
                                      const Key& of) {
  const auto found = factors.find(of);
  return found == factors.end() ? nullptr : &found->second;
}

/// Whether a wheel over it would change its value.
bool turnsWithWheel(QObject* field) {
  return qobject_cast<QAbstractSpinBox*>(field) != nullptr ||
         qobject_cast<QComboBox*>(field) != nullptr || qobject_cast<QSlider*>(field) != nullptr;
}

bool isUndoKey(QEvent* event) {
  const auto* const key = static_cast<QKeyEvent*>(event);
  return key->matches(QKeySequence::Undo) || key->matches(QKeySequence::Redo);
}

/// Chooses the entry with that data; an entry of its own where there is none.
void chooseData(QComboBox& box, const QString& data) {
  int index = box.findData(data);
  if (index < 0) {
    box.addItem(data, data);
    index = box.count() - 1;
  }
  box.setCurrentIndex(index);
}

}  // namespace

WhatIfPanel::WhatIfPanel(ChartStack& charts) : predicted_(new PredictedChart(charts)) {
  settleSoon_.setSingleShot(true);
  settleSoon_.setInterval(kSettle);
  progressSoon_.setInterval(kProgress);
  connect(&settleSoon_, &QTimer::timeout, this, &WhatIfPanel::settle);
  connect(&progressSoon_, &QTimer::timeout, this, &WhatIfPanel::updateProgress);
  layOut();
  connectLines();
  connectPlan();
  connectWork();
  close();
}

WhatIfPanel::~WhatIfPanel() { work_.open(nullptr); }

// Its parts.

void WhatIfPanel::layOut() {
  state_ = wrapped();
  state_->setAccessibleName(tr("State of the prediction"));
  progress_ = new QProgressBar;
  progress_->setAccessibleName(tr("Progress of the prediction"));
  progress_->setRange(0, 100);
  progress_->setMaximumHeight(fontMetrics().height() + 4);
  auto* cancel = new QPushButton(tr("Cancel"));
  connect(cancel, &QPushButton::clicked, this, [this] {
    work_.cancelAnswer();
    updateProgress();
    state_->setText(tr("Cancelled. What is shown is the preview."));
  });
  busy_ = new QWidget;
  auto* busyLine = new QHBoxLayout(busy_);
  busyLine->setContentsMargins(0, 0, 0, 0);
  busyLine->addWidget(progress_, 1);
  busyLine->addWidget(cancel);
  busy_->hide();
  figures_ = new FiguresTable;
  made_ = new QListWidget;
  made_->setAccessibleName(tr("Changes"));
  made_->setToolTip(tr("The changes; Delete takes the chosen one back"));
  made_->setSelectionMode(QAbstractItemView::SingleSelection);
  made_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  made_->setTextElideMode(Qt::ElideRight);
  made_->installEventFilter(this);
  advice_ = new AdviceCards;
  grounds_ = wrapped();
  grounds_->setAccessibleName(tr("What the answer rests on"));

  auto* inside = new QWidget;
  auto* column = new QVBoxLayout(inside);
  column->setContentsMargins(8, 0, 8, 8);
  column->setSpacing(4);
  column->addWidget(made_);
  column->addWidget(heading(tr("Times")));
  column->addWidget(makeTimes());
  column->addWidget(heading(tr("Another plan")));
  column->addWidget(makePlan());
  column->addWidget(heading(tr("Advice")));
  column->addWidget(advice_);
  column->addWidget(heading(tr("The answer rests on this")));
  column->addWidget(grounds_);
  column->addStretch();
  auto* scroll = new QScrollArea;
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setWidget(inside);
  scroll->setMinimumHeight(80);
  scroll->setMinimumWidth(inside->minimumSizeHint().width() +
                          scroll->verticalScrollBar()->sizeHint().width() + 2);

  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 4, 0, 4);
  all->setSpacing(4);
  auto* top = new QVBoxLayout;
  top->setContentsMargins(8, 0, 8, 0);
  top->setSpacing(4);
  top->addWidget(state_);
  top->addWidget(busy_);
  top->addWidget(figures_);
  all->addLayout(top);
  auto* rule = new QFrame;
  rule->setFrameShape(QFrame::HLine);
  rule->setFrameShadow(QFrame::Sunken);
  all->addWidget(rule);
  all->addWidget(scroll, 1);
  all->addWidget(makeButtons());
}

void WhatIfPanel::addRow(QGridLayout& grid, const QString& name, QWidget* field,
                         const QString& help, std::function<void(WhatIfChanges&)> clear,
                         const char* option) {
  auto* label = new QLabel(name);
  label->setBuddy(field);
  label->setToolTip(help);
  if (field->toolTip().isEmpty()) field->setToolTip(help);
  if (field->accessibleName().isEmpty()) field->setAccessibleName(name);
  auto* reset = new QToolButton;
  reset->setText(QString::fromUtf8("↺"));
  reset->setAutoRaise(true);
  reset->setToolTip(tr("As it is in the run"));
  reset->setAccessibleName(tr("%1: as it is in the run").arg(name));
  const int row = grid.rowCount();
  grid.addWidget(label, row, 0);
  grid.addWidget(field, row, 1);
  grid.addWidget(reset, row, 2);
  connect(reset, &QToolButton::clicked, this, [this, clear] { edit(clear); });
  rows_.push_back({label, field, reset, std::move(clear), QString::fromLatin1(option)});
}

void WhatIfPanel::addLine(QGridLayout& grid, const QString& name, ChangeLine* line,
                          const QString& help) {
  auto* label = new QLabel(name);
  label->setToolTip(help);
  label->setBuddy(&line->slider());
  const int row = grid.rowCount();
  grid.addWidget(label, row, 0);
  grid.addWidget(line, row, 1, 1, 2);
  rows_.push_back({label, line, nullptr, {}, {}});
}

QWidget* WhatIfPanel::makeTimes() {
  stage_ = new ChangeLine(tr("Stage"), false);
  rank_ = new ChangeLine(tr("Rank"), false);
  link_ = new ChangeLine(tr("Link"), false);
  kind_ = new ChangeLine(tr("Kind"), true);
  linkTime_ = new QDoubleSpinBox;
  linkTime_->setRange(kAsMeasured, 1e9);
  linkTime_->setSpecialValueText(tr("as measured"));
  linkTime_->setDecimals(4);
  linkTime_->setSuffix(tr(" ms"));
  linkTime_->setKeyboardTracking(false);
  launches_ = new QComboBox;
  balance_ = new QCheckBox(tr("All stages take equally long"));
  noLinks_ = wrapped();
  auto* times = new QWidget;
  auto* grid = new QGridLayout(times);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setVerticalSpacing(2);
  grid->setHorizontalSpacing(6);
  grid->setColumnStretch(1, 1);
  addLine(*grid, tr("Stage"), stage_,
          tr("All compute jobs of a stage. What they wait inside for "
             "other ranks, and what collectives move, is not scaled"));
  addLine(*grid, tr("Rank"), rank_,
          tr("All compute jobs of a rank: what it does itself, so that others wait less for it"));
  addLine(*grid, tr("Link"), link_, tr("The messages between two ranks, both ways"));
  addRow(
      *grid, tr("Link time"), linkTime_,
      tr("How long a message takes on the link above, both ways"),
      [this](WhatIfChanges& to) { to.linkTimes.erase(linkAt(link_->current())); }, "--link");
  addLine(*grid, tr("Kind"), kind_, tr("All work of a kind. It may take no time"));
  addRow(
      *grid, tr("Launches"), launches_,
      tr("By how much work begins after its last input. Pauses between steps stay"),
      [](WhatIfChanges& to) {
        to.leavesOutLaunches = false;
        to.usualLaunches.clear();
      },
      "--usual-launch");
  addRow(
      *grid, tr("Balance"), balance_,
      tr("Each stage takes the mean of all stages for each kind of job, so that the work is "
         "kept"),
      [](WhatIfChanges& to) { to.balancesStages = false; }, "--balance");
  grid->addWidget(noLinks_, grid->rowCount(), 0, 1, 3);
  return times;
}

QWidget* WhatIfPanel::makePlan() {
  schedule_ = new QComboBox;
  split_ = new QComboBox;
  for (const char* each : {"", "1:1", "2:1", "1:2", "3:2", "2:3"}) {
    split_->addItem(*each == 0 ? tr("as in the run, else 1:1") : QString::fromLatin1(each),
                    QString::fromLatin1(each));
  }
  chunks_ = new QSpinBox;
  chunks_->setRange(0, kMostChunks);
  microBatches_ = new QSpinBox;
  microBatches_->setRange(0, kMostMicroBatches);
  for (QSpinBox* const box : {chunks_, microBatches_}) box->setKeyboardTracking(false);
  keepBatch_ = new QCheckBox(tr("It stays: micro-batches get smaller"));
  lines_ = new QComboBox;
  lines_->addItem(tr("as in the run"), QString());
  for (const CommStreamsRow& row : kCommStreams) {
    lines_->addItem(asText(std::string(row.text)), asText(std::string(row.name)));
  }
  order_ = new QComboBox;
  order_->addItem(tr("as in the run"), QString());
  order_->addItem(tr("in the order of their times"), QStringLiteral("in-time"));
  order_->addItem(tr("where torch posts them"), QStringLiteral("torch"));
  depths_ = new QLineEdit;
  depths_->setPlaceholderText(tr("3,2,1,0"));
  partition_ = new QLineEdit;
  partition_->setPlaceholderText(tr("12,13,13,11"));
  runPartition_ = new QLineEdit;
  limit_ = new QLineEdit;
  limit_->setPlaceholderText(tr("any"));
  for (QComboBox* const box : {schedule_, split_, lines_, order_, launches_}) {
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(8);
  }
  noPlan_ = wrapped();
  plan_ = new QWidget;
  auto* grid = new QGridLayout(plan_);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setVerticalSpacing(2);
  grid->setHorizontalSpacing(6);
  grid->setColumnStretch(1, 1);
  addRow(
      *grid, tr("Schedule"), schedule_, tr("Another schedule, simulated with the run's medians"),
      [](WhatIfChanges& to) { to.schedule.clear(); }, "--schedule");
  addRow(
      *grid, tr("Chunks"), chunks_,
      tr("Virtual stages per rank; each stage of the run is cut evenly, in the model's order"),
      [](WhatIfChanges& to) { to.chunks = 0; }, "--chunks");
  addRow(
      *grid, tr("Micro-batches"), microBatches_, tr("More or fewer micro-batches of a step"),
      [](WhatIfChanges& to) { to.microBatches = 0; }, "--micro-batches");
  addRow(
      *grid, tr("Batch"), keepBatch_,
      tr("The micro-batches are smaller or larger, and so are jobs and activations, but not "
         "messages and launches"),
      [](WhatIfChanges& to) { to.keepsBatch = false; }, "--keep-batch");
  addRow(
      *grid, tr("Messages"), order_, tr("The order of the messages on their lines"),
      [](WhatIfChanges& to) { to.transfers.clear(); }, "--transfers");
  addRow(
      *grid, tr("Lines"), lines_, tr("On which lines messages run one after the other"),
      [](WhatIfChanges& to) { to.lines.clear(); }, "--comm-streams");
  addRow(
      *grid, tr("Partition"), partition_,
      tr("The number of blocks of each stage, 12,13,13,11. The blocks of a stage of the run are "
         "taken to be alike; tables of blocks are for pipe-trace what-if --blocks FILE"),
      [](WhatIfChanges& to) { to.partition = to.runPartition = to.blocks = {}; }, "--partition");
  addRow(
      *grid, tr("Run's blocks"), runPartition_,
      tr("How many blocks each stage of the run had, where the logs do not say it"),
      [](WhatIfChanges& to) { to.runPartition.clear(); }, "--run-partition");
  addRow(
      *grid, tr("Warm-up"), depths_,
      tr("With how many forwards each stage warms up; for %1 with one stage a rank")
          .arg(asText(schedulesWithDepths())),
      [](WhatIfChanges& to) { to.depths.clear(); }, "--stage-depths");
  addRow(
      *grid, tr("Split"), split_,
      tr("How long the input half of a backward is beside the weight half, for schedules that "
         "split it"),
      [](WhatIfChanges& to) { to.split.clear(); }, "--split");
  addRow(
      *grid, tr("Limit"), limit_,
      tr("For the schedule auto: the most activations that a rank may hold, each of all stages "
         "of the rank"),
      [](WhatIfChanges& to) { to.limitActivations.clear(); }, "--limit-activations");
  auto* both = new QWidget;
  auto* column = new QVBoxLayout(both);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(noPlan_);
  column->addWidget(plan_);
  return both;
}

QWidget* WhatIfPanel::makeButtons() {
  undoButton_ = new QPushButton(tr("Undo"));
  redoButton_ = new QPushButton(tr("Redo"));
  resetButton_ = new QPushButton(tr("Reset"));
  copyButton_ = new QPushButton(tr("Copy"));
  saveButton_ = new QPushButton(tr("Save …"));
  undoButton_->setToolTip(tr("Take the last change back (Ctrl+Z)"));
  redoButton_->setToolTip(tr("Make it again (Ctrl+Shift+Z)"));
  resetButton_->setToolTip(tr("The run as it is"));
  copyButton_->setToolTip(tr("Copy the command of pipe-trace what-if that asks for the same"));
  saveButton_->setToolTip(
      tr("Write the predicted run as a profile, or its plan as a schedule file"));
  connect(undoButton_, &QPushButton::clicked, this, &WhatIfPanel::undo);
  connect(redoButton_, &QPushButton::clicked, this, &WhatIfPanel::redo);
  connect(resetButton_, &QPushButton::clicked, this, &WhatIfPanel::resetAll);
  connect(copyButton_, &QPushButton::clicked, this, &WhatIfPanel::copyCommand);
  connect(saveButton_, &QPushButton::clicked, this, &WhatIfPanel::chooseFile);
  auto* buttons = new QWidget;
  auto* line = new QGridLayout(buttons);
  line->setContentsMargins(8, 0, 8, 0);
  line->setSpacing(4);
  int column = 0;
  for (QPushButton* const each :
       {undoButton_, redoButton_, resetButton_, copyButton_, saveButton_}) {
    each->setMinimumWidth(10);
    line->addWidget(each, 0, column++);
  }
  return buttons;
}

// What the controls change.

int WhatIfPanel::stageAt(int index) const {
  const auto facts = work_.facts();
  const auto at = static_cast<std::size_t>(index);
  return facts && index >= 0 && at < facts->stages.size() ? facts->stages[at] : -1;
}

int WhatIfPanel::rankAt(int index) const {
  const auto facts = work_.facts();
  const auto at = static_cast<std::size_t>(index);
  return facts && index >= 0 && at < facts->ranks.size() ? facts->ranks[at] : -1;
}

WhatIfChanges::Link WhatIfPanel::linkAt(int index) const {
  const auto facts = work_.facts();
  const auto at = static_cast<std::size_t>(index);
  return facts && index >= 0 && at < facts->links.size() ? facts->links[at]
                                                         : WhatIfChanges::Link{-1, -1};
}

std::string WhatIfPanel::kindAt(int index) const {
  const auto at = static_cast<std::size_t>(std::max(index, 0));
  return kKinds[std::min(at, kKinds.size() - 1)].first;
}

void WhatIfPanel::connectLines() {
  const auto connectLine = [this](ChangeLine* line,
                                  std::function<void(WhatIfChanges&, qint64)> set) {
    connect(line, &ChangeLine::changed, this, [this, line, set](qint64 factor) {
      edit([&](WhatIfChanges& to) { set(to, factor); }, line->isHeld());
    });
    connect(line, &ChangeLine::released, this, &WhatIfPanel::settle);
    connect(line, &ChangeLine::chosen, this, &WhatIfPanel::showChanges);
  };
  connectLine(stage_, [this](WhatIfChanges& to, qint64 factor) {
    setFactor(to.stages, stageAt(stage_->current()), factor);
  });
  connectLine(rank_, [this](WhatIfChanges& to, qint64 factor) {
    setFactor(to.ranks, rankAt(rank_->current()), factor);
  });
  connectLine(link_, [this](WhatIfChanges& to, qint64 factor) {
    const WhatIfChanges::Link link = linkAt(link_->current());
    to.links.erase(link);
    if (factor != ScaleOption::kOne) to.links[link] = factor;
  });
  connectLine(kind_, [this](WhatIfChanges& to, qint64 factor) {
    const std::string kind = kindAt(kind_->current());
    to.kinds.erase(kind);
    if (factor != ScaleOption::kOne) to.kinds[kind] = factor;
  });
  connect(linkTime_, &QDoubleSpinBox::valueChanged, this, [this](double time) {
    edit([&](WhatIfChanges& to) {
      const WhatIfChanges::Link link = linkAt(link_->current());
      to.linkTimes.erase(link);
      if (time >= 0) to.linkTimes[link] = std::llround(time * kNsPerMs);
    });
  });
  connect(launches_, &QComboBox::activated, this, [this](int index) {
    edit([&](WhatIfChanges& to) {
      to.leavesOutLaunches = index == 1;
      to.usualLaunches.clear();
      if (index > 1) to.usualLaunches.insert(launches_->itemData(index).toInt());
    });
  });
  connect(balance_, &QCheckBox::toggled, this,
          [this](bool isOn) { edit([&](WhatIfChanges& to) { to.balancesStages = isOn; }); });
}

void WhatIfPanel::connectPlan() {
  const auto connectBox = [this](QComboBox* box, std::string WhatIfChanges::*member) {
    connect(box, &QComboBox::activated, this, [this, box, member](int index) {
      edit([&](WhatIfChanges& to) { to.*member = box->itemData(index).toString().toStdString(); });
    });
  };
  connectBox(schedule_, &WhatIfChanges::schedule);
  connectBox(split_, &WhatIfChanges::split);
  connectBox(lines_, &WhatIfChanges::lines);
  connectBox(order_, &WhatIfChanges::transfers);
  const auto connectText = [this](QLineEdit* field, std::string WhatIfChanges::*member) {
    connect(field, &QLineEdit::editingFinished, this, [this, field, member] {
      edit([&](WhatIfChanges& to) {
        to.*member = field->text().simplified().remove(' ').toStdString();
        if (!to.partition.empty() || !to.runPartition.empty()) to.blocks = "equal";
        if (to.partition.empty() && to.runPartition.empty()) to.blocks.clear();
      });
    });
  };
  connectText(depths_, &WhatIfChanges::depths);
  connectText(partition_, &WhatIfChanges::partition);
  connectText(runPartition_, &WhatIfChanges::runPartition);
  connectText(limit_, &WhatIfChanges::limitActivations);
  connect(chunks_, &QSpinBox::valueChanged, this,
          [this](int value) { edit([&](WhatIfChanges& to) { to.chunks = value; }); });
  connect(microBatches_, &QSpinBox::valueChanged, this,
          [this](int value) { edit([&](WhatIfChanges& to) { to.microBatches = value; }); });
  connect(keepBatch_, &QCheckBox::toggled, this,
          [this](bool isOn) { edit([&](WhatIfChanges& to) { to.keepsBatch = isOn; }); });
}

/// The window has the same keys for its view.
bool WhatIfPanel::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride && isUndoKey(event)) {
    event->accept();
    return true;
  }
  return QWidget::event(event);
}

void WhatIfPanel::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Undo)) return undo();
  if (event->matches(QKeySequence::Redo)) return redo();
  QWidget::keyPressEvent(event);
}

bool WhatIfPanel::eventFilter(QObject* watched, QEvent* event) {
  const bool isPress = event->type() == QEvent::KeyPress;
  if (watched == made_ && isPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    const int row = made_->currentRow();
    if ((key->key() == Qt::Key_Delete || key->key() == Qt::Key_Backspace) && row >= 0) {
      std::vector<std::string> options = changes_.asked();
      if (static_cast<std::size_t>(row) < options.size()) {
        options.erase(options.begin() + row);
        std::string text;
        for (const std::string& each : options) text += each + " ";
        edit([&](WhatIfChanges& to) { to = WhatIfChanges::of(text); });
        made_->setCurrentRow(std::min(row, made_->count() - 1));
      }
      return true;
    }
  }
  // The wheel scrolls the panel: who only looks through it must not change the question.
  if (event->type() == QEvent::Wheel && turnsWithWheel(watched)) {
    event->ignore();
    return true;
  }
  // A field would take its own letters back.
  if (event->type() == QEvent::ShortcutOverride && isUndoKey(event)) {
    event->accept();
    return true;
  }
  if (isPress && isUndoKey(event)) {
    keyPressEvent(static_cast<QKeyEvent*>(event));
    return true;
  }
  return QWidget::eventFilter(watched, event);
}

void WhatIfPanel::edit(const std::function<void(WhatIfChanges&)>& change, bool isHeld) {
  if (isShowing_ || !work_.facts()) return;
  WhatIfChanges next = changes_;
  change(next);
  if (next == changes_) return;
  changes_ = std::move(next);
  changed(isHeld);
}

void WhatIfPanel::changed(bool isHeld) {
  answer_.reset();
  work_.cancelAnswer();
  updateProgress();
  showChanges();
  if (changes_.empty()) {
    showMeasured();
  } else if (work_.facts()->noPreview.empty()) {
    work_.preview(changes_);
  } else {
    state_->setText(asText(work_.facts()->noPreview) + '.');
  }
  if (isHeld) {
    settleSoon_.stop();
  } else {
    settleSoon_.start();
  }
}

/// The changes stay for now: the whole run is predicted with them.
void WhatIfPanel::settle() {
  settleSoon_.stop();
  if (!(changes_ == settled_)) {
    undo_.push_back(std::exchange(settled_, changes_));
    if (undo_.size() > kMostUndo) undo_.erase(undo_.begin());
    redo_.clear();
  }
  updateButtons();
  if (changes_.empty() || answer_ || !work_.facts()) return;
  work_.answer(changes_);
  updateProgress();
}

void WhatIfPanel::setChanges(const WhatIfChanges& changes) {
  if (changes == changes_) return;
  settle();
  changes_ = changes;
  if (!work_.facts()) return showChanges();
  chooseChanged();
  changed(false);
  settle();
}

void WhatIfPanel::undo() {
  settle();
  if (undo_.empty()) return;
  redo_.push_back(settled_);
  changes_ = settled_ = undo_.back();
  undo_.pop_back();
  chooseChanged();
  changed(false);
  settle();
}

void WhatIfPanel::redo() {
  if (redo_.empty()) return;
  undo_.push_back(settled_);
  changes_ = settled_ = redo_.back();
  redo_.pop_back();
  chooseChanged();
  changed(false);
  settle();
}

void WhatIfPanel::resetAll() { setChanges({}); }

// The run, and what is predicted of it.

void WhatIfPanel::open(Subject subject, const QString& remembered) {
  close();
  subject_ = std::move(subject);
  try {
    changes_ = WhatIfChanges::of(remembered.toStdString());
  } catch (const Error&) {
    changes_ = {};  // of another version of the program
  }
  settled_ = changes_;
  begin();
}

void WhatIfPanel::close() {
  settleSoon_.stop();
  work_.open(nullptr);
  subject_ = {};
  hasBegun_ = false;
  changes_ = settled_ = {};
  undo_.clear();
  redo_.clear();
  answer_.reset();
  predicted_->show(nullptr, {}, false);
  figures_->setRowCount(0);
  figures_->setFixedHeight(0);
  advice_->showText({});
  grounds_->clear();
  state_->setText(tr("Nothing can be predicted before the causes of idle time are known."));
  noPlan_->hide();
  noLinks_->hide();
  for (const Row& row : rows_) row.field->setEnabled(false);
  showChanges();
  updateProgress();
}

void WhatIfPanel::setUsed(bool isUsed) {
  isUsed_ = isUsed;
  predicted_->setUsed(isUsed);
  if (isUsed) begin();
}

void WhatIfPanel::begin() {
  if (!isUsed_ || hasBegun_ || !subject_.profile) return;
  hasBegun_ = true;
  state_->setText(tr("Preparing …"));
  advice_->showText(tr("Looking for advice …"));
  work_.open(subject_.profile);
  work_.advise();
  updateProgress();
}

void WhatIfPanel::connectWork() {
  connect(&work_, &WhatIfWork::grounded, this, &WhatIfPanel::showFacts);
  connect(&work_, &WhatIfWork::refused, this, [this](const QString& why) {
    state_->setText(tr("Nothing can be predicted: %1.").arg(why));
    noPlan_->hide();
  });
  connect(&work_, &WhatIfWork::previewed, this,
          [this](const std::shared_ptr<const PreviewResult>& result) { showPreview(*result); });
  connect(&work_, &WhatIfWork::answered, this, &WhatIfPanel::showAnswer);
  connect(&work_, &WhatIfWork::advised, this, [this](std::shared_ptr<const AdviceList> advice) {
    advice_->show(std::move(advice));
    updateProgress();
  });
  connect(&work_, &WhatIfWork::adviceFailed, this, [this](const QString& why) {
    advice_->showText(tr("There is no advice: %1.").arg(why));
    updateProgress();
  });
  connect(advice_, &AdviceCards::chosen, this, &WhatIfPanel::setChanges);
  for (QWidget* const field : findChildren<QWidget*>()) {
    const bool isTyped = qobject_cast<QLineEdit*>(field) != nullptr ||
                         qobject_cast<QAbstractSpinBox*>(field) != nullptr;
    if (isTyped || turnsWithWheel(field)) field->installEventFilter(this);
  }
}

void WhatIfPanel::showFacts() {
  const WhatIfFacts& facts = *work_.facts();
  isShowing_ = true;
  const auto numbered = [](const QString& what, const std::vector<int>& numbers) {
    QStringList names;
    for (const int number : numbers) names.push_back(what.arg(number));
    return names;
  };
  stage_->setNames(numbered(tr("stage %1"), facts.stages));
  rank_->setNames(numbered(tr("rank %1"), facts.ranks));
  QStringList links;
  for (const auto& [rank, peer] : facts.links) {
    links.push_back(QString::fromUtf8("%1 – %2").arg(rank).arg(peer));
  }
  link_->setNames(links);
  QStringList kinds;
  for (const auto& [word, name] : kKinds) kinds.push_back(tr(name));
  kind_->setNames(kinds);
  launches_->clear();
  launches_->addItem(tr("as measured"));
  launches_->addItem(tr("none"));
  for (const int rank : facts.ranks) {
    launches_->addItem(tr("of rank %1 as of the others").arg(rank), rank);
  }
  schedule_->clear();
  schedule_->addItem(tr("as it is (%1)").arg(asText(facts.schedule)), QString());
  for (const ScheduleInfo& info : knownSchedules()) {
    const QString name = asText(std::string(info.name));
    schedule_->addItem(name, name);
    const int index = schedule_->count() - 1;
    schedule_->setItemData(index, asText(std::string(info.summary)), Qt::ToolTipRole);
    const QString why =
        info.isAsynchronous
            ? tr("it is asynchronous, so none of its steps has an end of its own to "
                 "compare with")
        : info.isForwardOnly ? tr("it trains nothing")
                             : QString();
    if (why.isEmpty()) continue;
    schedule_->setItemData(index, why, Qt::ToolTipRole);
    schedule_->setItemData(index, 0, Qt::UserRole - 1);  // grey
  }
  chunks_->setSpecialValueText(facts.chunks > 0 ? tr("as it is (%1)").arg(facts.chunks)
                                                : tr("as it is"));
  microBatches_->setSpecialValueText(
      facts.microBatches > 0 ? tr("as it is (%1)").arg(facts.microBatches) : tr("as it is"));
  runPartition_->setPlaceholderText(facts.namesBlocks ? tr("as the logs say") : tr("12,12,12,13"));
  isShowing_ = false;

  for (const Row& row : rows_) row.field->setEnabled(true);
  stage_->setEnabled(!facts.stages.empty());
  const bool hasLinks = facts.noLinks.empty();
  link_->setEnabled(hasLinks);
  linkTime_->setEnabled(hasLinks);
  noLinks_->setText(tr("Links: %1.").arg(asText(facts.noLinks)));
  noLinks_->setVisible(!hasLinks);
  noLinks_->setEnabled(false);
  const bool hasPlan = facts.noPlan.empty();
  plan_->setEnabled(hasPlan);
  noPlan_->setText(withFieldNames(asText(facts.noPlan)) + '.');
  noPlan_->setVisible(!hasPlan);
  const QString rankName = facts.meetsInside ? tr("Own time") : tr("Rank");
  for (const Row& row : rows_) {
    if (row.field == rank_) row.name->setText(rankName);
  }
  chooseChanged();
  showChanges();
  showMeasured();
  if (changes_.empty()) return;
  if (facts.noPreview.empty()) work_.preview(changes_);
  settle();
}

void WhatIfPanel::showLine(ChangeLine& line, const WhatIfChanges::Factor* factor) {
  line.show(factor == nullptr ? ScaleOption::kOne : *factor);
}

/// Lines whose thing is as measured choose one that is changed.
void WhatIfPanel::chooseChanged() {
  if (!work_.facts()) return;
  const WhatIfFacts& facts = *work_.facts();
  const auto choose = [](ChangeLine& line, const auto& all, const auto& isChanged) {
    if (line.current() >= 0 && isChanged(all[static_cast<std::size_t>(line.current())])) return;
    const auto found = std::find_if(all.begin(), all.end(), isChanged);
    if (found == all.end()) return;
    const QSignalBlocker quiet(line);
    line.choose(static_cast<int>(found - all.begin()));
  };
  const WhatIfChanges& of = changes_;
  choose(*stage_, facts.stages, [&](int stage) { return of.stages.contains(stage); });
  choose(*rank_, facts.ranks, [&](int rank) { return of.ranks.contains(rank); });
  choose(*link_, facts.links, [&](const WhatIfChanges::Link& link) {
    return of.links.contains(link) || of.linkTimes.contains(link);
  });
  choose(*kind_, kKinds, [&](const auto& kind) { return of.kinds.contains(kind.first); });
}

/// The controls, the list and the buttons take over the changes.
void WhatIfPanel::showChanges() {
  isShowing_ = true;
  const WhatIfChanges& of = changes_;
  showLine(*stage_, factorOf(of.stages, stageAt(stage_->current())));
  showLine(*rank_, factorOf(of.ranks, rankAt(rank_->current())));
  const WhatIfChanges::Link link = linkAt(link_->current());
  showLine(*link_, factorOf(of.links, link));
  showLine(*kind_, factorOf(of.kinds, kindAt(kind_->current())));
  const auto time = of.linkTimes.find(link);
  linkTime_->setValue(time == of.linkTimes.end() ? kAsMeasured
                                                 : static_cast<double>(time->second) / kNsPerMs);
  const int usual =
      of.usualLaunches.empty() ? 0 : std::max(0, launches_->findData(*of.usualLaunches.begin()));
  launches_->setCurrentIndex(of.leavesOutLaunches ? 1 : usual);
  balance_->setChecked(of.balancesStages);
  if (schedule_->count() > 0) chooseData(*schedule_, asText(of.schedule));
  chooseData(*split_, asText(of.split));
  chooseData(*lines_, asText(of.lines));
  chooseData(*order_, asText(of.transfers));
  chunks_->setValue(of.chunks);
  microBatches_->setValue(of.microBatches);
  keepBatch_->setChecked(of.keepsBatch);
  keepBatch_->setEnabled(of.microBatches > 0);
  split_->setEnabled(!of.schedule.empty());
  limit_->setEnabled(of.schedule == "auto");
  depths_->setText(asText(of.depths));
  partition_->setText(asText(of.partition));
  runPartition_->setText(asText(of.runPartition));
  limit_->setText(asText(of.limitActivations));
  isShowing_ = false;

  const std::vector<std::string> options = of.asked();
  const int before = made_->currentRow();
  made_->clear();
  for (const std::string& each : options) made_->addItem(asText(each).mid(2));
  if (before >= 0) made_->setCurrentRow(std::min(before, made_->count() - 1));
  constexpr int kMostLines = 4;
  made_->setVisible(!options.empty());
  made_->setFixedHeight(
      std::min<int>(made_->count(), kMostLines) *
          (made_->sizeHintForRow(0) > 0 ? made_->sizeHintForRow(0) : fontMetrics().height() + 2) +
      2 * made_->frameWidth() + 2);
  for (const Row& row : rows_) {
    if (row.reset == nullptr) continue;
    WhatIfChanges without = changes_;
    row.clear(without);
    row.reset->setEnabled(!(without == changes_));
  }
  updateButtons();
}

void WhatIfPanel::updateButtons() {
  undoButton_->setEnabled(!undo_.empty() || !(changes_ == settled_));
  redoButton_->setEnabled(!redo_.empty());
  resetButton_->setEnabled(!changes_.empty());
  copyButton_->setEnabled(subject_.profile != nullptr && !changes_.empty());
  saveButton_->setEnabled(answer_ && answer_->run);
}

void WhatIfPanel::showMeasured() {
  const WhatIfFacts& facts = *work_.facts();
  predicted_->show(nullptr, {}, false);
  figures_->show(tr("measured"), {facts.measured, facts.peaks}, nullptr, facts.isOfWall,
                 facts.isInTokens);
  state_->setText(
      facts.noPreview.empty()
          ? tr("Move a slider: the median step (step %1) follows. Then the whole run is "
               "predicted.")
                .arg(facts.step)
          : asText(facts.noPreview) + '.');
  QString errors;
  if (facts.modelError) {
    errors = tr("model error %1: simulated with medians, nothing changed, beside the run")
                 .arg(changeText(*facts.modelError));
  }
  showGrounds({}, errors);
}

void WhatIfPanel::showPreview(const PreviewResult& result) {
  if (answer_ || changes_.empty()) return;
  if (!result.problem.isEmpty()) {
    // The answer may say more.
    const bool isPending = settleSoon_.isActive() || work_.isAnswering();
    return isPending ? state_->setText(result.problem + '.') : showProblem(result.problem);
  }
  const WhatIfFacts& facts = *work_.facts();
  const StepPreview& preview = result.preview;
  const auto& before = preview.isByModel ? tr("simulated") : tr("step %1").arg(facts.step);
  const FiguresTable::Figures after{preview.figures, preview.peaks, preview.hasClasses};
  figures_->show(before, {preview.before, facts.peaks}, &after, false, facts.isInTokens);
  const QString step = asText(formatDuration(preview.figures.step));
  const QString words = tr("Preview of step %1: %2, %3")
                            .arg(QString::number(facts.step), step, changeText(preview.change()));
  state_->setText(words);
  predicted_->show(preview.run, words, true);
  std::vector<std::string> grounds = preview.assumptions;
  grounds.insert(grounds.begin(),
                 "this is a preview of the median step alone; the whole run is predicted once the "
                 "change is made");
  showGrounds(grounds, preview.isByModel && facts.modelError
                           ? tr("model error %1").arg(changeText(*facts.modelError))
                           : QString());
}

void WhatIfPanel::showAnswer(std::shared_ptr<const AnswerResult> result) {
  if (!(result->changes == changes_)) return;
  updateProgress();
  if (!result->problem.isEmpty()) return showProblem(result->problem);
  answer_ = std::move(result);
  const WhatIfAnswer& answer = answer_->answer;
  const FiguresTable::Figures after{answer.changed, answer.changedPeaks};
  figures_->show(answer.isByModel ? tr("simulated") : tr("measured"),
                 {answer.unchanged, answer.peaks}, &after, answer.isOfWall, answer.isInTokens);
  const QString step = asText(formatDuration(answer.predictedWith(answer.change())));
  QString words = (answer.isWholeRun ? tr("Predicted: the run takes %1, %2")
                                     : tr("Predicted: a step takes %1, %2"))
                      .arg(step, changeText(answer.change()));
  if (answer.dependsOnOrder()) {
    words += tr("; with the messages of a rank one after the other %1")
                 .arg(changeText(answer.changeTo(*answer.changedInLine)));
  }
  state_->setText(words);
  predicted_->show(answer_->run, words, false);
  showGrounds(answer.assumptions, asText(whatIfErrorsText(answer)).trimmed());
  updateButtons();
}

void WhatIfPanel::showProblem(const QString& problem) {
  state_->setText(tr("No prediction: %1.").arg(withFieldNames(problem)));
  predicted_->show(nullptr, {}, false);
  const WhatIfFacts& facts = *work_.facts();
  figures_->show(tr("measured"), {facts.measured, facts.peaks}, nullptr, facts.isOfWall,
                 facts.isInTokens);
  showGrounds({}, {});
}

/// The sentence with the names of fields in place of the options that they stand for.
QString WhatIfPanel::withFieldNames(QString sentence) const {
  for (const Row& row : rows_) {
    if (row.option.isEmpty()) continue;
    const QRegularExpression option(row.option + QStringLiteral("(?![a-z-])"));
    sentence.replace(option, QString::fromUtf8("“%1”").arg(row.name->text()));
  }
  return withWhoseWhatIfOptions(sentence);
}

void WhatIfPanel::showGrounds(const std::vector<std::string>& grounds, const QString& errors) {
  QStringList lines;
  for (const QString& each : errors.split('\n', Qt::SkipEmptyParts)) {
    lines.push_back(QString::fromUtf8("• ") + each);
  }
  for (const std::string& each : grounds) lines.push_back(QString::fromUtf8("• ") + asText(each));
  grounds_->setText(lines.isEmpty() ? tr("Nothing is changed yet.") : lines.join('\n'));
}

void WhatIfPanel::updateProgress() {
  busy_->setVisible(work_.isAnswering());
  progress_->setValue(static_cast<int>(100 * work_.answerProgress()));
  if (work_.isAdvising()) {
    const auto [tried, inAll] = work_.adviceProgress();
    advice_->showText(inAll > 0
                          ? tr("Looking for advice: %1 of %2 changes tried …").arg(tried).arg(inAll)
                          : tr("Looking for advice …"));
  }
  const bool isBusy = work_.isAnswering() || work_.isAdvising();
  if (isBusy && !progressSoon_.isActive()) progressSoon_.start();
  if (!isBusy) progressSoon_.stop();
}

// The command, and files.

QString WhatIfPanel::command() const {
  if (!subject_.profile) return {};
  std::string text = "pipe-trace what-if";
  for (const QString& input : subject_.inputs) {
    const std::string name = input.toStdString();
    text += " " + printedShellWord(name.starts_with('-') ? "./" + name : name);
  }
  switch (subject_.align) {
    case AlignBy::kBest: break;
    case AlignBy::kNone: text += " --align none"; break;
    case AlignBy::kLog: text += " --align log"; break;
    case AlignBy::kCausal: text += " --align causal"; break;
  }
  for (const std::string& option : changes_.asked()) text += " " + option;
  return asText(text);
}

void WhatIfPanel::copyCommand() {
  QGuiApplication::clipboard()->setText(command());
  emit told(tr("Copied: %1").arg(command()));
}

void WhatIfPanel::save(const QString& path) const {
  if (!answer_ || !answer_->run) throw Error("there is no prediction of the whole run yet");
  const std::string name = path.toStdString();
  subject_.profile->checkOutput(name);
  OutputFile out(name);
  if (path.endsWith(QStringLiteral(".csv"), Qt::CaseInsensitive)) {
    if (answer_->answer.order.ranks.empty()) {
      throw Error("the order of the jobs is the run's, so there is no plan to write");
    }
    out.write(toCsv(answer_->answer.order));
  } else {
    writeChromeJson(answer_->run->run().timeline(), {}, out);
  }
  out.commit();
}

void WhatIfPanel::chooseFile() {
  if (!answer_) return;
  const QString profiles = tr("Profile (*.json)");
  const QString plans = tr("Plan (*.csv)");
  QString filter = profiles;
  const bool hasPlan = !answer_->answer.order.ranks.empty();
  QString path =
      QFileDialog::getSaveFileName(this, tr("Save the prediction"), QString(),
                                   hasPlan ? profiles + ";;" + plans : profiles, &filter);
  if (path.isEmpty()) return;
  if (QFileInfo(path).suffix().isEmpty()) {
    path += filter == plans ? QStringLiteral(".csv") : QStringLiteral(".json");
  }
  try {
    save(path);
    emit told(tr("Saved %1").arg(path));
  } catch (const Error& error) {
    emit told(QString::fromUtf8(error.what()));
  }
}

}  // namespace pipetrace
