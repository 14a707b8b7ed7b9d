// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/machines/machines_panel.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <QTextEdit>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <array>

#include "ui/model/machines/known_machines.h"
#include "ui/model/text/count_text.h"
#include "ui/model/topology/topology_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/manual_topic.h"
#include "ui/theme/theme.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {
namespace {

enum CheckColumn { host_column, check_column, state_column, found_column, advice_column };

// Problems that adding the machine (again) may solve.
constexpr std::array kSolvedByAdding{"host_key_unknown", "agent_missing", "other_agent",
                                     "login_refused",    "no_listener",   "machine_not_joined"};

// "the machine has 4 cores (drawn: 8)"
QString found_text(const MachineCheckRow& row) {
  return row.problem && !row.problem->accepted.empty()
             ? QString("%1 (%2)").arg(row.found, as_text(row.problem->accepted))
             : row.found;
}

QString advice_text(const MachineCheckRow& row) {
  return row.problem ? as_text(row.problem->advice) : QString();
}

// Returns the drawing without positions and links, which the check does not use.
topology::Topology checked_part(const topology::Topology& topology) {
  topology::Topology part = without_positions(topology);
  part.links.clear(), part.switches.clear();
  return part;
}

}  // namespace

MachinesPanel::MachinesPanel(Document& document, const Services& services, QWidget* parent)
    : QWidget(parent), document_(document), services_(services) {
  setObjectName("machines");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, kGrid / 2, 0, 0);
  column->setSpacing(kGrid / 2);
  column->addWidget(build_controls());
  column->addWidget(empty_ = paragraph(TextColor::dim, this), 3);
  empty_->setAlignment(Qt::AlignCenter);
  empty_->setContentsMargins(2 * kGrid, 2 * kGrid, 2 * kGrid, 2 * kGrid);
  build_table();
  column->addWidget(table_, 2);
  column->addWidget(advice_ = new QTextEdit(this), 1);
  advice_->setReadOnly(true);
  advice_->setTabChangesFocus(true);
  advice_->setFrameShape(QFrame::NoFrame);
  advice_->setAccessibleName(tr("Advice for the check"));
  connect(&check_, &MachineCheck::changed, this, &MachinesPanel::refresh);
  connect(&document, &Document::changed, this, &MachinesPanel::show_status);
  connect(&Theme::instance(), &Theme::changed, this, &MachinesPanel::refresh);
  refresh();
}

QWidget* MachinesPanel::build_controls() {
  auto* controls = new QWidget(this);
  auto* row = new QHBoxLayout(controls);
  row->setContentsMargins(kGrid, 0, kGrid, 0);
  row->addWidget(start_ = new QPushButton(icon("ok"), tr("Check machines"), controls));
  row->addWidget(cancel_ = new QPushButton(tr("Cancel check"), controls));
  row->addWidget(bar_ = new QProgressBar(controls));
  row->addWidget(status_ = new TintedLabel(TextColor::text, controls), 1);
  row->addWidget(here_ = new QPushButton(tr("Run on this machine"), controls));
  row->addWidget(add_ = new QPushButton(icon("add"), tr("Add machine ..."), controls));
  start_->setToolTip(tr("Connect to the machines of the drawing and compare them with it"));
  here_->setToolTip(
      tr("Clear the machines of all hosts and start the run here; Undo restores them"));
  add_->setToolTip(tr("Make another machine ready for runs"));
  bar_->setRange(0, 0);
  bar_->setTextVisible(false);
  bar_->setMaximumWidth(Theme::instance().pixels(120));
  bar_->setAccessibleName(tr("Progress of the check"));
  status_->set_elided();
  status_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  status_->setAccessibleName(tr("State of the check"));
  connect(start_, &QPushButton::clicked, this, &MachinesPanel::check);
  connect(cancel_, &QPushButton::clicked, &check_, &MachineCheck::cancel);
  connect(here_, &QPushButton::clicked, this, &MachinesPanel::local_run_requested);
  connect(add_, &QPushButton::clicked, this, [this] { emit machine_requested(address_to_add()); });
  return controls;
}

void MachinesPanel::build_table() {
  table_ = new QTreeWidget(this);
  table_->setHeaderLabels({tr("Host"), tr("Check"), tr("Result"), tr("Found"), tr("What to do")});
  table_->setRootIsDecorated(false);
  table_->setFrameShape(QFrame::NoFrame);
  table_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  table_->setContextMenuPolicy(Qt::CustomContextMenu);
  table_->setAccessibleName(tr("Checks of machines"));
  for (const int narrow : {host_column, check_column, state_column})
    table_->header()->setSectionResizeMode(narrow, QHeaderView::ResizeToContents);
  for (const int wide : {found_column, advice_column})
    table_->header()->setSectionResizeMode(wide, QHeaderView::Stretch);
  table_->header()->setStretchLastSection(false);
  connect(table_, &QTreeWidget::currentItemChanged, this, &MachinesPanel::show_advice);
  connect(table_, &QTreeWidget::customContextMenuRequested, this, &MachinesPanel::show_menu);
  connect(table_, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item) {
    if (const MachineCheckRow* row = row_of(item)) emit activated(path_of(*row));
  });
}

void MachinesPanel::check() {
  if (check_.running() || count_other_machines(document_.experiment().topology) == 0) return;
  checked_ = checked_part(document_.experiment().topology);
  check_.start(services_, document_.experiment(), document_.directory());
}

void MachinesPanel::refresh() {
  fill();
  show_status();
}

void MachinesPanel::fill() {
  table_->clear();
  if (check_.running()) return;
  for (const MachineCheckRow& row : check_.rows()) {
    const bool passed = !row.problem;
    auto* item =
        new QTreeWidgetItem(table_, {row.host, row.check, passed ? tr("passed") : tr("failed"),
                                     found_text(row), advice_text(row)});
    item->setIcon(state_column, icon(passed ? "ok" : "error"));
    if (!passed) {
      item->setForeground(state_column, colors().error);
      for (const int column : {host_column, check_column, state_column}) {
        QFont font = item->font(column);
        font.setWeight(QFont::DemiBold);
        item->setFont(column, font);
      }
    }
    for (int column = 0; column < table_->columnCount(); ++column)
      item->setToolTip(column, item->text(column));
  }
  // Selects the first row that failed.
  const auto bad = std::ranges::find_if(
      check_.rows(), [](const MachineCheckRow& row) { return row.problem.has_value(); });
  table_->setCurrentItem(table_->topLevelItem(static_cast<int>(
                             bad == check_.rows().end() ? 0 : bad - check_.rows().begin())),
                         0, QItemSelectionModel::NoUpdate);
  show_advice();
}

std::size_t MachinesPanel::failed() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      check_.rows(), [](const MachineCheckRow& row) { return row.problem.has_value(); }));
}

void MachinesPanel::show_status() {
  const topology::Topology& drawing = document_.experiment().topology;
  const int others = count_other_machines(drawing);
  const bool rows = !check_.running() && !check_.rows().empty();
  const bool changed = check_.finished() && checked_ != checked_part(drawing);
  start_->setVisible(!check_.running());
  start_->setEnabled(others > 0);
  cancel_->setVisible(check_.running());
  bar_->setVisible(check_.running());
  here_->setVisible(others > 0);
  table_->setVisible(rows);
  advice_->setVisible(rows && table_->currentItem() != nullptr);
  empty_->setText(empty_text());
  empty_->setVisible(!rows);
  const QString count = tr("%n check(s)", nullptr, plural(check_.rows().size()));
  const bool bad = !check_.running() && (failed() > 0 || !check_.problems().empty());
  QString status;
  if (check_.running()) status = tr("Checking %n machine(s) ...", nullptr, plural(others));
  else if (!check_.problems().empty()) status = tr("The machines could not be checked");
  else if (check_.finished() && rows)
    status = failed() > 0 ? tr("%1 of %2 failed").arg(failed()).arg(count)
                          : tr("%1: all passed").arg(count);
  if (rows && changed) status += " · " + tr("The drawing has changed since: check again");
  status_->setText(status);
  status_->set_tint(bad       ? TextColor::error
                    : changed ? TextColor::warning
                    : rows    ? TextColor::ok
                              : TextColor::dim);
}

QString MachinesPanel::status() const { return status_->text(); }

QString MachinesPanel::empty_text() const {
  const int others = count_other_machines(document_.experiment().topology);
  if (check_.running()) return tr("Connecting to the machines. This takes a few seconds.");
  if (!check_.problems().empty()) return as_text(base::to_string(check_.problems()));
  if (others == 0)
    return tr(
        "All ranks run on this machine. To use another one, press Add machine, or set "
        "the field Machine of a host.");
  return tr(
      "The drawing uses %n other machine(s). Press Check machines to test the connection and "
      "to compare cores, memory and clock with the drawing.",
      nullptr, plural(others));
}

const MachineCheckRow* MachinesPanel::row_of(const QTreeWidgetItem* item) const {
  const int row = table_->indexOfTopLevelItem(const_cast<QTreeWidgetItem*>(item));
  return row >= 0 && row < static_cast<int>(check_.rows().size())
             ? &check_.rows()[static_cast<std::size_t>(row)]
             : nullptr;
}

// Returns the index of the drawn host of a row; nothing if it was renamed or removed.
std::optional<std::size_t> MachinesPanel::host_of_row(const MachineCheckRow& row) const {
  const auto& hosts = document_.experiment().topology.hosts;
  const auto at = std::ranges::find(hosts, row.host.toStdString(), &topology::Host::name);
  return at == hosts.end() ? std::nullopt
                           : std::optional(static_cast<std::size_t>(at - hosts.begin()));
}

QString MachinesPanel::path_of(const MachineCheckRow& row) const {
  const auto host = host_of_row(row);
  return host ? QString("topology.hosts[%1].address").arg(*host) : QString();
}

// Returns the address of the machine of the current row, if adding it again may solve its problem.
QString MachinesPanel::address_to_add() const {
  const MachineCheckRow* row = row_of(table_->currentItem());
  if (!row || !row->problem ||
      std::ranges::find(kSolvedByAdding, row->problem->id) == kSolvedByAdding.end())
    return {};
  const auto host = host_of_row(*row);
  return host ? as_text(document_.experiment().topology.hosts[*host].address) : QString();
}

// Shows the full text of the current row below the table, because its row has room only for the
// beginning.
void MachinesPanel::show_advice() {
  const MachineCheckRow* row = row_of(table_->currentItem());
  advice_->setVisible(row != nullptr);
  advice_->setPlainText(row ? (found_text(*row) + "\n" + advice_text(*row)).trimmed() : QString());
  set_manual_problem(this, row ? row->problem : std::nullopt);
}

QString MachinesPanel::text() const {
  QStringList lines;
  const bool all = table_->selectedItems().isEmpty();
  for (int i = 0; i < table_->topLevelItemCount(); ++i) {
    const QTreeWidgetItem& item = *table_->topLevelItem(i);
    if (!all && !item.isSelected()) continue;
    QStringList cells;
    for (int column = 0; column < item.columnCount(); ++column)
      if (!item.text(column).isEmpty()) cells << item.text(column);
    lines << cells.join("  ");
  }
  return lines.join("\n");
}

void MachinesPanel::copy() const { QGuiApplication::clipboard()->setText(text()); }

void MachinesPanel::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) return copy();
  QWidget::keyPressEvent(event);
}

void MachinesPanel::show_menu(const QPoint& at) {
  QMenu menu(this);
  // Copies the path and the address, because the row may be removed while the menu is open.
  if (const MachineCheckRow* row = row_of(table_->itemAt(at))) {
    menu.addAction(tr("Go to location"), this,
                   [this, path = path_of(*row)] { emit activated(path); });
    if (const QString address = address_to_add(); !address.isEmpty())
      menu.addAction(icon("add"), tr("Add %1 ...").arg(address), this,
                     [this, address] { emit machine_requested(address); });
  }
  menu.addAction(icon("copy"), tr("Copy"), this, &MachinesPanel::copy);
  menu.exec(table_->viewport()->mapToGlobal(at));
}

}  // namespace trainyard::ui
